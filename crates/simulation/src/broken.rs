//! What a run stops with: something that must hold did not.

use overnight_server::app::errors::AppError;
use overnight_server::store::StoreError;

/// Something that must hold does not, in words.
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

/// Ends the run with these words unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($words:tt)*) => {
        if !$condition {
            return Err($crate::broken::Broken(format!($($words)*)));
        }
    };
}
pub(super) use ensure;
