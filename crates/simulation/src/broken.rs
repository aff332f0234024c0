//! Broken invariants, which end a run.

use overnight_app::errors::AppError;
use overnight_store::StoreError;

#[derive(Debug)]
pub(super) struct Broken(pub(super) String);

pub(super) type Step<T = ()> = Result<T, Broken>;

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Self(format!("the store failed: {error}"))
    }
}

impl From<AppError> for Broken {
    fn from(error: AppError) -> Self {
        Self(format!("a use case failed: {error:?}"))
    }
}

/// Ends the run with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::broken::Broken(format!($($words)*)));
        }
    };
}
pub(super) use ensure;
