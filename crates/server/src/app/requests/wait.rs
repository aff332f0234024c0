//! Waiting for the end of a request. One task of the process asks the store about all requests that somebody waits for, so the
//! end may have come about on any node; while nobody waits there is no task.
//!
//! A call that waits asks nobody by itself. `app/requests/wait.rs` keeps the requests whose ends calls of this process wait for, and
//! one task looks all of them up in the store, 256 a statement, every 200 ms or twenty times as long as a look takes. So it does not
//! matter which node ends a request, and a process in which nobody waits does nothing. Such calls hold a place of their own in the
//! shares (`http/waiting_calls.rs`); their records are read when there is memory for them (`http/held_requests.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_base::tasks;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::watch;

use super::NOUN;
use crate::app::Services;
use crate::app::errors::AppError;
use crate::store::{StoreError, requests};

/// Between two looks, in milliseconds, at least.
const LOOK_EVERY_MS: i64 = 200;

/// Between two looks so many times as long as a look took, at least: looking takes a small part of a reader's time.
const PAUSE_FACTOR: i64 = 20;

/// Requests that one statement asks about.
const LOOKED_UP_MAX: usize = 256;

/// The requests whose ends somebody in this process waits for.
#[derive(Debug, Default)]
pub struct AwaitedEnds(Mutex<Awaited>);

#[derive(Debug, Default)]
struct Awaited {
    /// Dropped without a word where the watch is over before the end came.
    requests: BTreeMap<RequestId, watch::Sender<bool>>,
    is_watched: bool,
}

/// Returns once the request has ended, or is gone. Whoever stops waiting leaves the request as it is.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's; [`AppError::Unavailable`] where the service stops before the end.
pub async fn wait(services: &Services, account: AccountKey, id: RequestId) -> Result<(), AppError> {
    let found = requests::find_summary(&services.store, account, id).await?;
    let (summary, _) = found.ok_or(AppError::NotFound(NOUN))?;
    if summary.state.ended_at().is_some() {
        return Ok(());
    }
    // The first look comes later than this, so no end between the two is missed.
    let mut ended = subscribe(services, id);
    ended.wait_for(|has_ended| *has_ended).await.map(drop).map_err(|_| AppError::stopping())
}

fn subscribe(services: &Services, id: RequestId) -> watch::Receiver<bool> {
    let mut awaited = services.awaited_ends.lock();
    let ended = awaited.requests.entry(id).or_insert_with(|| watch::Sender::new(false)).subscribe();
    if !std::mem::replace(&mut awaited.is_watched, true) {
        let watch = Watch { ends: Arc::clone(&services.awaited_ends), is_over: false };
        tasks::spawn(watch.run(services.clone()));
    }
    ended
}

impl AwaitedEnds {
    fn lock(&self) -> MutexGuard<'_, Awaited> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, id: RequestId) {
        if let Some(ended) = self.lock().requests.remove(&id) {
            ended.send_replace(true);
        }
    }
}

struct Watch {
    ends: Arc<AwaitedEnds>,
    is_over: bool,
}

impl Watch {
    /// Looks until nobody waits any more, or the service stops.
    async fn run(mut self, services: Services) {
        let clock = &services.clock;
        let mut pause_ms = LOOK_EVERY_MS;
        loop {
            clock.sleep_until(clock.now().saturating_add(pause_ms)).await;
            if services.signals.is_stopping() {
                return;
            }
            let Some(ids) = self.awaited() else { return };
            let began_at = clock.now();
            for ids in ids.chunks(LOOKED_UP_MAX) {
                match requests::list_live(&services.store, ids).await {
                    Ok(live) => ids.iter().filter(|id| !live.contains(id)).for_each(|id| self.ends.end(*id)),
                    Err(StoreError::Stopped) => return,
                    Err(error) => tracing::debug!(%error, "looking for ended requests failed; will retry"),
                }
            }
            pause_ms = LOOK_EVERY_MS.max(PAUSE_FACTOR.saturating_mul(clock.now() - began_at));
        }
    }

    /// What somebody waits for; `None` where nobody does, and then the next who comes starts another watch.
    fn awaited(&mut self) -> Option<Vec<RequestId>> {
        let mut awaited = self.ends.lock();
        awaited.requests.retain(|_, ended| ended.receiver_count() > 0);
        if awaited.requests.is_empty() {
            awaited.is_watched = false;
            self.is_over = true;
            return None;
        }
        Some(awaited.requests.keys().copied().collect())
    }
}

impl Drop for Watch {
    /// Whoever still waits is told that the end will not be seen.
    fn drop(&mut self) {
        if !self.is_over {
            *self.ends.lock() = Awaited::default();
        }
    }
}
