//! Duties that recur: each a function without input that may run at any time and as often as it likes, in a file
//! named for its agent. The deliverer alone has something under way between two looks, and is a task of its own.

pub mod canceller;
pub mod coroner;
pub mod deliverer;
pub mod expirer;
pub mod keeper;
pub mod registrar;

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::app::Services;
use crate::store::StoreError;

const EXPIRER_MS: i64 = 1_000;
const CANCELLER_MS: i64 = 60_000;
const REGISTRAR_MS: i64 = 10_000;

/// A duty: done at a time, again and again.
type Duty = for<'a> fn(&'a Services, i64) -> BoxFuture<'a, Result<(), StoreError>>;

/// Runs every duty at its own pace until the set is dropped.
pub fn spawn(services: &Services) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    let renewal_ms = services.config.lease.0 / 3;
    workers.spawn(repeat(services.clone(), "keeper", renewal_ms, |services, now| {
        Box::pin(keeper::run_once(services, now))
    }));
    let look_ms = services.config.lease.0 / coroner::LOOKS;
    workers.spawn(repeat(services.clone(), "coroner", look_ms, |services, now| {
        Box::pin(coroner::run_once(services, now))
    }));
    workers.spawn(repeat(services.clone(), "expirer", EXPIRER_MS, |services, now| {
        Box::pin(expirer::run_once(services, now))
    }));
    workers.spawn(repeat(services.clone(), "canceller", CANCELLER_MS, |services, now| {
        Box::pin(canceller::run_once(services, now))
    }));
    workers.spawn(repeat(services.clone(), "registrar", REGISTRAR_MS, |services, now| {
        Box::pin(registrar::run_once(services, now))
    }));
    workers
}

async fn repeat(services: Services, name: &'static str, period_ms: i64, run_once: Duty) {
    loop {
        match run_once(&services, services.clock.now()).await {
            Err(StoreError::Stopped) => return,
            Err(error) => tracing::warn!(%error, worker = name, "a duty was not done, and is tried again"),
            Ok(()) => {}
        }
        services.clock.sleep_until(services.clock.now() + period_ms).await;
    }
}
