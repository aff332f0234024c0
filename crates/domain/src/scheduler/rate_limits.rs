//! Replicas with rate limits (`rate_window`): no more is leased for them than may be sent immediately, so that other replicas take waiting
//! requests meanwhile, and they are served again in the second in which there is room.
//!
//! A request's use is estimated as accounts are charged: by what requests of its account lately used of their estimates. With full
//! reservations, the requests of an account that asks for much and uses little would keep a window closed to all others. Until the use is
//! known, the whole estimate is reserved, in which output counts twice. So an account can exceed a limit of tokens by no more than it has
//! in flight, and only once: from then on it is expected to use as much.

use std::collections::BTreeMap;

use super::Scheduler;
use super::charges::Bounds;
use super::leases_held::{HeldLease, Stage};
use super::messages::{ModelKey, ReplicaKey};
use super::rate_window::{RateLimits, Volume};
use super::replicas::ReplicaState;

/// Approximate tokens of a probe: a word, the engine's frame around it, and one token of output.
pub(super) const PROBE_TOKENS: i64 = 64;
/// Leases do not wait for room longer than this: other replicas may have some.
const PATIENCE_MS: i64 = 5_000;

/// Limits per minute of the replicas of a model together; no limit if one of them has none.
pub(super) fn together(replicas: &BTreeMap<ReplicaKey, ReplicaState>, model: ModelKey) -> RateLimits {
    let serving = || replicas.values().filter(|it| !it.retiring && it.serves(model)).map(|it| it.rate.limits);
    let requests = serving().map(|it| it.requests_per_minute);
    let tokens = serving().map(|it| it.tokens_per_minute);
    RateLimits {
        requests_per_minute: requests.reduce(|sum, it| Some(sum?.saturating_add(it?))).flatten(),
        tokens_per_minute: tokens.reduce(|sum, it| Some(sum?.saturating_add(it?))).flatten(),
    }
}

impl RateLimits {
    /// Bounds of a request's charge on a replica with these limits, if requests are charged `mean_charge` in the mean, the same for all
    /// accounts of a round. Accounts share what is scarce there: if that is requests, one of a few tokens counts as much as any other.
    pub(super) fn bounds(&self, mean_charge: i64) -> Bounds {
        match (self.requests_per_minute, self.tokens_per_minute) {
            (Some(requests), Some(tokens)) => Bounds::at_least(tokens / i64::from(requests).max(1)),
            (Some(_), None) => Bounds::exactly(mean_charge),
            (None, _) => Bounds::NONE,
        }
    }
}

impl ReplicaState {
    /// Slots that it can use at `now`: those taken, and those for which its rate limits and its budget have room.
    pub(super) fn reach(&self, now: i64) -> usize {
        let room = if self.budget.is_short() { 0 } else { self.sendable(now) };
        self.slots().min(self.occupied().saturating_add(room))
    }

    /// Requests that may still be leased for it at `now` under its rate limits and its budget.
    pub(super) fn rate_room(&self, now: i64) -> usize {
        self.sendable(now).saturating_sub(self.claimed() - self.occupied())
    }

    /// When the earliest of its probes is due that a rate limit allows; `None` if its budget allows none today.
    pub(super) fn probe_at(&self, now: i64) -> Option<i64> {
        let due_at = self.probes().map(|(_, at)| at).min()?;
        if !self.has_budget_for_probe() {
            return None;
        }
        Some(due_at.max(self.rate.room_at(PROBE_TOKENS, now)))
    }

    /// Whether a probe may be sent today, as far as known.
    pub(super) fn has_budget_for_probe(&self) -> bool {
        self.budget.fits(PROBE_TOKENS) != Some(false)
    }
}

impl Scheduler {
    /// Whether only its rate limits keep waiting requests from a replica at `now`.
    pub fn is_rate_limited(&self, replica: ReplicaKey, now: i64) -> bool {
        let now = self.time.own(now);
        let Some(replica) = self.replicas.get(&replica) else { return false };
        let waits = || replica.config.models.iter().any(|model| self.waiting(*model) > 0);
        replica.rate.opens_at(now).is_some() && (!replica.buffered.is_empty() || waits())
    }

    /// Requests leased or being leased for a replica, and not sent.
    pub(super) fn unsent(&self, key: ReplicaKey) -> Volume {
        let counts = |it: &&ReplicaState| it.rate.limits.are_set() || it.budget.is_set();
        let Some(replica) = self.replicas.get(&key).filter(counts) else { return Volume::NONE };
        let buffered = replica.buffered.iter().filter_map(|seq| self.leases_held.get(seq));
        let asked = replica.asks.values().flat_map(|ask| {
            let part = ask.charged.part;
            ask.run.iter().map(move |it| part.of(it.cost))
        });
        buffered.map(|held| held.tokens).chain(asked).fold(Volume::NONE, Volume::with)
    }

    /// Reserves room for a request that is sent now; returns whether there is any. If there is none for long, releases the replica's
    /// buffered leases: always if its budget has none.
    pub(super) fn reserve(&mut self, key: ReplicaKey, seq: i64, now: i64) -> bool {
        let Some(replica) = self.replicas.get_mut(&key) else { return false };
        let Some(held) = self.leases_held.get_mut(&seq) else { return true };
        if replica.rate.fits(held.tokens, now) {
            let fits = replica.budget.fits(held.tokens);
            match fits {
                Some(true) => {
                    held.reservation = replica.rate.reserve(held.tokens, now);
                    held.budgeted = replica.budget.reserve(held.tokens);
                }
                Some(false) => {
                    let model = held.lease.key.partition.model;
                    self.hold_back(key, model, now);
                    self.release_buffered(key, None, now);
                }
                // The store will say.
                None => {}
            }
            return fits == Some(true);
        }
        replica.rate.want(held.tokens);
        let is_long = replica.rate.room_at(held.tokens, now) > now + PATIENCE_MS;
        // A repeated request that is released would be sent as it was at first, and would return here.
        if is_long && !held.is_repeated {
            self.release_buffered(key, None, now);
        }
        false
    }

    /// Reserves room for a probe that is sent now; returns whether there is any.
    pub(super) fn reserve_probe(&mut self, key: ReplicaKey, now: i64) -> bool {
        let Some(replica) = self.replicas.get_mut(&key) else { return false };
        if !replica.rate.fits(PROBE_TOKENS, now) {
            replica.rate.want(PROBE_TOKENS);
            return false;
        }
        let fits = replica.budget.fits(PROBE_TOKENS) == Some(true);
        if fits {
            replica.rate.reserve(PROBE_TOKENS, now);
            replica.budget.reserve(PROBE_TOKENS);
        }
        fits
    }

    /// The request was not sent, or no connection could be made for it: it does not count.
    pub(super) fn cancel_reservations(&mut self, held: &HeldLease) {
        let Some(replica) = self.replicas.get_mut(&held.replica) else { return };
        if let Some(reservation) = held.reservation {
            replica.rate.cancel(reservation);
        }
        if let Some(reservation) = held.budgeted {
            replica.budget.cancel(reservation);
        }
    }

    /// The engine refused a request for the output limit that it was sent with, which is not its client's: it is sent once more without, as
    /// soon as there is room.
    pub(super) fn repeat(&mut self, seq: i64, key: ReplicaKey, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(held) = self.leases_held.get_mut(&seq) else { return };
        replica.forget_sent(seq);
        (held.stage, held.reservation, held.is_repeated) = (Stage::Buffered, None, true);
        replica.buffered.push_front(seq);
        self.touched.insert(key);
        let is_out = replica.retiring || replica.is_out_for(held.lease.key.partition.model);
        if (is_out || self.is_draining)
            && let Some(held) = self.let_go(seq)
        {
            let mark = held.unchanged();
            self.release_lease(held, now, mark, now);
        }
    }

    /// Once a second: forgets what was sent more than a minute ago, and looks up anew which request waits for room, because the last one
    /// may be cancelled by now, or run elsewhere.
    pub(super) fn repair_rates(&mut self, now: i64) {
        for replica in self.replicas.values_mut() {
            replica.rate.pass(now);
            replica.rate.want(0);
        }
    }
}
