//! Waiting for the end of a request.
//!
//! Waiting calls do not ask the store themselves. One task looks up all requests that calls of this process wait for, 256 per statement,
//! every 200 ms or twenty times as long as a look takes. So any node may end a request, and a process without waiting calls has no task.
//! Such calls hold a place of their own in the shares (`http/waiting_calls.rs`); their records are read when there is memory for them
//! (`http/held_requests.rs`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overnight_base::tasks;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;
use overnight_store::{StoreError, requests};
use tokio::sync::watch;

use super::NOUN;
use crate::Services;
use crate::errors::AppError;

/// The minimum interval of looks, in milliseconds.
const LOOK_EVERY_MS: i64 = 200;

/// The minimum pause after a look, as a multiple of its duration: looking takes a small part of a reader's time.
const PAUSE_FACTOR: i64 = 20;

/// Requests per statement.
const LOOKED_UP_MAX: usize = 256;

/// The requests whose ends calls of this process wait for.
#[derive(Debug, Default)]
pub struct AwaitedEnds(Mutex<Awaited>);

#[derive(Debug, Default)]
struct Awaited {
    /// A sender that is dropped without a value ended its watch before the request ended.
    requests: BTreeMap<RequestId, watch::Sender<bool>>,
    is_watched: bool,
}

/// Returns once the request has ended or was deleted. Callers that leave do not affect it. Fails with [`AppError::Unavailable`] if the
/// service stops before the end.
pub async fn wait(services: &Services, account: AccountKey, id: RequestId) -> Result<(), AppError> {
    let found = requests::find_summary(&services.store, account, id).await?;
    let (summary, _) = found.ok_or(AppError::NotFound(NOUN))?;
    if summary.state.ended_at().is_some() {
        return Ok(());
    }
    // The first look is later than this, so no end in between is missed.
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
    /// Looks until no call waits, or the service stops.
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

    /// The awaited requests; `None` if there are none, and then the next caller starts another watch.
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
    /// Informs remaining callers that the end will not be seen.
    fn drop(&mut self) {
        if !self.is_over {
            *self.ends.lock() = Awaited::default();
        }
    }
}
