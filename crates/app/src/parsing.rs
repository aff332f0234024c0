//! Long texts are parsed on separate threads, in turns by account: on a runtime thread a body of some MiB would delay all calls on it.

use std::thread::available_parallelism;

use overnight_base::tasks;
use overnight_base::turns::Turns;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;

use super::errors::AppError;
use super::{Services, joined};

/// Texts up to this many bytes are parsed in place: changing threads would cost more.
const SHORT_BYTES: usize = 64 << 10;

/// Slots for long texts: half of the processors, at least one.
#[derive(Debug)]
pub struct Parsers(Turns);

impl Default for Parsers {
    fn default() -> Self {
        Self(Turns::over(available_parallelism().map_or(1, usize::from) / 2))
    }
}

/// Runs `work`, which parses or converts this many bytes of an account. If they are many, it runs in the account's turn, and to completion
/// even if the caller leaves. Fails with [`AppError::Unavailable`] if the service stops.
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
