//! Delivers events: finds due events, claims as many as there is room for, tries each, and records the outcome. The claims of a dead
//! process are released to another.
//!
//! Webhooks are delivered from an outbox. The transaction that ends a request or batch with a webhook writes an event. A request carries
//! the number of its *delivery lane* (its account, and part of the digest of the receiver's host) from its creation, so an end without a
//! webhook costs nothing. The deliverer (`crates/runtime/src/workers/deliverer/`) visits lane after lane, claims what it has room for,
//! sends, and records the attempt. A node holds a claim as it holds a lease: its heartbeat renews the claim, and its end releases it with
//! an attempt `interrupted`. The limits per lane and account are arithmetic (`crates/domain/src/webhooks/lanes.rs`). The payload is
//! rendered once and kept with the first claim, so every attempt sends the same bytes.

mod permits;
mod tries;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use overnight_app::write_retry::write_with_retry;
use overnight_app::{Services, webhooks};
use overnight_base::supervision::Pulse;
use overnight_outgoing::webhooks::Sender;
use overnight_store::StoreError;
use overnight_store::outbox::webhook_secrets;
use overnight_store::outbox::{self, AttemptResult, Claim, Due, EventState};
use tokio::task::{JoinError, JoinSet};

use self::permits::{Permit, Permits};
use self::tries::Try;

pub const NAME: &str = "deliverer";

/// The longest interval between looks: other processes and operators make events due too.
const LOOK_MS: i64 = 500;

/// A look takes a millisecond for this many lanes, and should be a small part of the time.
const LANES_A_MS: usize = 100;

/// The retry interval while the store is unavailable.
const RETRY_MS: i64 = 1_000;

pub struct Deliverer {
    services: Services,
    sender: Arc<Sender>,
    permits: Permits,
    tries: JoinSet<AttemptResult>,
    /// At the last look.
    lanes: usize,
    pulse: Arc<Pulse>,
}

impl Deliverer {
    pub fn new(services: Services, sender: Sender) -> Self {
        let pulse = services.supervisor.pulse(NAME, services.store.is_shared());
        Self {
            services,
            sender: Arc::new(sender),
            permits: Permits::default(),
            tries: JoinSet::new(),
            lanes: 0,
            pulse,
        }
    }

    /// Delivers until stopped. Tries in progress may then still take the configured time.
    pub async fn run(mut self, stopped: impl Future<Output = ()>) {
        tokio::pin!(stopped);
        loop {
            self.pulse.turn();
            let look_at = self.look().await;
            tokio::select! {
                () = &mut stopped => break,
                () = self.services.store.events_written() => {}
                Some(tried) = self.tries.join_next() => self.record(tried).await,
                () = self.services.clock.sleep_until(look_at) => {}
            }
            self.rest().await;
        }
        // The last results brought the last events.
        self.look().await;
        let too_late = self.services.clock.now() + self.services.drain_ms();
        loop {
            tokio::select! {
                tried = self.tries.join_next() => match tried {
                    Some(tried) => self.record(tried).await,
                    None => return,
                },
                () = self.services.clock.sleep_until(too_late) => return,
            }
        }
    }

    /// A look takes longer with more lanes, so with many of them it waits longer to do more at once.
    async fn rest(&self) {
        let rest_ms = i64::try_from(self.lanes / LANES_A_MS).unwrap_or(i64::MAX).min(LOOK_MS);
        if rest_ms > 0 {
            self.services.clock.sleep_until(self.services.clock.now() + rest_ms).await;
        }
    }

    /// Begins as many due tries as there is room for; returns when to look again.
    async fn look(&mut self) -> i64 {
        let now = self.services.clock.now();
        match self.begin_due(now).await {
            Ok(next_due_at) => next_due_at.min(now + LOOK_MS),
            Err(StoreError::Stopped) => now + RETRY_MS,
            Err(error) => {
                tracing::warn!(%error, "reading the outbox failed; will retry");
                now + RETRY_MS
            }
        }
    }

    async fn begin_due(&mut self, now: i64) -> Result<i64, StoreError> {
        let store = &self.services.store;
        let mut lanes = outbox::list_lanes(store).await?;
        self.lanes = lanes.len();
        let due_at = || lanes.iter().map(|(_, due_at)| *due_at);
        let next_due_at = due_at().filter(|due_at| *due_at > now).min();
        let oldest_ms = due_at().min().map_or(0, |due_at| now.saturating_sub(due_at).max(0));
        metrics::gauge!("overnight_webhook_oldest_due_seconds").set(oldest_ms as f64 / 1_000.0);
        lanes.retain(|(_, due_at)| *due_at <= now);
        // Accounts with the fewest tries in progress are first, then those that have waited longest.
        lanes.sort_by_key(|(lane, due_at)| (self.permits.taken_beside(*lane), *due_at));
        let mut permits = Vec::new();
        for (lane, _) in lanes {
            let left = self.permits.left(lane);
            if left == 0 {
                continue;
            }
            match outbox::find_due(store, lane, now, left).await {
                Ok(due) => permits.extend(due.into_iter().map(|due| (due, self.permits.take(lane)))),
                // A damaged event does not affect the others.
                Err(error @ StoreError::Damaged(_)) => {
                    tracing::error!(%error, lane = lane.0, "event in a delivery lane cannot be read");
                }
                Err(error) => return Err(error),
            }
        }
        if !permits.is_empty() {
            self.begin(permits, now).await?;
        }
        Ok(next_due_at.unwrap_or(i64::MAX))
    }

    /// Claims events and tries those that nobody else has claimed meanwhile.
    async fn begin(&mut self, permits: Vec<(Due, Permit)>, now: i64) -> Result<(), StoreError> {
        let store = &self.services.store;
        let mut accounts: Vec<i64> = permits.iter().map(|(due, _)| due.account.0).collect();
        accounts.sort_unstable();
        accounts.dedup();
        // Before they are claimed: nothing may fail between a claim and its try.
        let secrets = webhook_secrets::list_of(store, &accounts, now).await?;
        let (signed, unsigned): (Vec<_>, Vec<_>) =
            permits.into_iter().partition(|(due, _)| secrets.contains_key(&due.account.0));
        if let Some((due, _)) = unsigned.first() {
            let request = due.request.map(tracing::field::display);
            tracing::error!(event = %due.id, request, "account has no webhook secret; its events wait for a rotation");
        }
        if signed.is_empty() {
            return Ok(());
        }
        // An event whose payload panics is skipped.
        let claim = |due: &Due| self.services.supervisor.item_now(NAME, due.id, || claim_of(due)).ok();
        let claims: Vec<Claim> = signed.iter().filter_map(|(due, _)| claim(due)).collect();
        let mut payloads: BTreeMap<i64, Bytes> =
            claims.iter().map(|claim| (claim.seq, claim.payload.clone())).collect();
        let mut taken = outbox::claim(store, claims, now).await?;
        for (due, permit) in signed {
            let (payload, claimed) = (payloads.remove(&due.seq), taken.remove(&due.seq));
            let Some((payload, claimed)) = payload.zip(claimed) else { continue };
            let secrets = secrets.get(&due.account.0).cloned().unwrap_or_default();
            let begun = Try { due, claimed, payload, secrets, permit };
            self.tries.spawn(begun.run_to_an_end(self.services.clone(), Arc::clone(&self.sender)));
        }
        self.show();
        Ok(())
    }

    /// Records the outcome of a try, and of all that have ended since.
    async fn record(&mut self, first: Result<AttemptResult, JoinError>) {
        let mut tried = vec![first];
        tried.extend(std::iter::from_fn(|| self.tries.try_join_next()));
        let mut results = Vec::with_capacity(tried.len());
        for outcome in tried {
            match outcome {
                Ok(result) => results.push(result),
                Err(error) => {
                    tracing::error!(%error, "delivery attempt ended without an outcome; it is repeated after a restart");
                }
            }
        }
        let results: Arc<[AttemptResult]> = results.into();
        let write = |results| outbox::record_attempt_results(&self.services.store, results);
        let clock = &self.services.clock;
        // It waits for an unavailable store.
        self.pulse.rest();
        let counted = write_with_retry(clock, "webhook delivery attempts", Arc::clone(&results), write).await;
        self.pulse.turn();
        count(&results, &counted);
        self.show();
    }

    fn show(&self) {
        metrics::gauge!("overnight_webhooks_in_flight").set(self.permits.taken() as f64);
    }
}

fn claim_of(due: &Due) -> Claim {
    let Due { seq, number, url, payload, .. } = due;
    Claim { seq: *seq, number: *number, url: url.clone(), payload: webhooks::payload(payload) }
}

fn count(results: &[AttemptResult], counted: &[Option<bool>]) {
    let mut exhausted = 0;
    for (result, counted) in results.iter().zip(counted) {
        match counted {
            Some(true) => {}
            Some(false) => {
                // This process was declared dead, and another one tries again.
                metrics::counter!("overnight_lost_claims_total").increment(1);
                continue;
            }
            None => {
                tracing::error!(
                    seq = result.seq,
                    "delivery outcome not stored; the event is sent again after a restart"
                );
                continue;
            }
        }
        let outcome = match result.state {
            EventState::Delivered => "delivered",
            EventState::Exhausted => "exhausted",
            EventState::Live => "failed",
        };
        exhausted += usize::from(result.state == EventState::Exhausted);
        metrics::counter!("overnight_webhook_tries_total", "outcome" => outcome).increment(1);
    }
    if exhausted > 0 {
        tracing::warn!(
            exhausted,
            "events exhausted; list them with `overnight webhook events --state exhausted`"
        );
    }
}
