//! Long texts are parsed on threads of their own, in turns by account: on a thread of the runtime a body of some MiB would hold up
//! every call that waits for this thread.

use std::thread::available_parallelism;

use overnight_base::tasks;
use overnight_base::turns::Turns;
use overnight_domain::scheduler::AccountKey;

use super::errors::AppError;
use super::{Services, joined};
use crate::store::StoreError;

/// A text of so many bytes is parsed where it is: that takes less than a change of threads is worth.
const SHORT_BYTES: usize = 64 << 10;

/// The places for long texts: half of the processors, and one at least.
#[derive(Debug)]
pub struct Parsers(Turns);

impl Default for Parsers {
    fn default() -> Self {
        Self(Turns::over(available_parallelism().map_or(1, usize::from) / 2))
    }
}

/// Does `work`, which parses so many bytes of an account, or writes them in another form. Where they are many, it is done in the
/// account's turn, and carried through even if the caller leaves.
///
/// # Errors
///
/// What `work` returns, and [`AppError::Unavailable`] where the service stops.
pub async fn parse<T: Send + 'static>(
    services: &Services,
    account: AccountKey,
    bytes: usize,
    work: impl FnOnce(&Services) -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    if bytes <= SHORT_BYTES {
        return work(services);
    }
    let turn = services.parsers.0.take(account).await.ok_or(StoreError::Stopped)?;
    let shared = services.clone();
    let parsed = tasks::spawn_heavy(move || {
        let _turn = turn;
        work(&shared)
    });
    joined(parsed).await
}
