//! Rate limits of hosted APIs: requests and tokens that a replica is sent in any 60 s.
//!
//! Sent requests are counted in slots of a second. A slot counts until its last millisecond is 60 s old, so no stretch of 60 s has more
//! than the limit, wherever it begins. A request therefore counts up to a second too long, which also makes up for requests that reach the
//! engine at different speeds. Tokens are reserved when a request is sent and corrected when it completes; both count at the time of
//! sending.
//!
//! The scheduler asks the window before each lease and each send, and wakes when it has room. It leases no more than may be sent
//! immediately, so a replica that must wait holds no request that others could run. The window is in the memory of the process that drives
//! the replica. If calls are counted, one that the engine client would repeat by itself returns to the scheduler
//! (`AttemptError::LimitRefused`).

use std::collections::VecDeque;

const SLOT_MS: i64 = 1_000;
/// The current slot and those before it that reach into the last 60 s.
const SLOTS: i64 = 61;

/// Limits of what a replica is sent in 60 s; `None` without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateLimits {
    /// Requests, probes included.
    pub requests_per_minute: Option<u32>,
    /// Tokens of input and output.
    pub tokens_per_minute: Option<i64>,
}

impl RateLimits {
    /// Whether there is any limit.
    pub const fn are_set(&self) -> bool {
        self.requests_per_minute.is_some() || self.tokens_per_minute.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) requests: i64,
    pub(super) tokens: i64,
}

impl Volume {
    pub(super) const NONE: Self = Self { requests: 0, tokens: 0 };

    /// With one more request.
    pub(super) const fn with(self, tokens: i64) -> Self {
        Self { requests: self.requests + 1, tokens: self.tokens.saturating_add(tokens) }
    }

    pub(super) const fn and(self, other: Self) -> Self {
        let requests = self.requests + other.requests;
        Self { requests, tokens: self.tokens.saturating_add(other.tokens) }
    }

    pub(super) const fn without(self, other: Self) -> Self {
        let requests = self.requests - other.requests;
        Self { requests, tokens: self.tokens.saturating_sub(other.tokens) }
    }

    /// Whether a request of so many tokens may be sent after this volume, within these limits. One that exceeds the whole limit may be sent
    /// if no other tokens count.
    pub(super) fn leaves_room(
        self,
        most_requests: Option<u32>,
        most_tokens: Option<i64>,
        tokens: i64,
    ) -> bool {
        most_requests.is_none_or(|most| self.requests < most.into())
            && most_tokens.is_none_or(|most| self.tokens.saturating_add(tokens.min(most)) <= most)
    }

    /// How many of the next requests may be sent after this volume; as an error, the tokens of the first if it may not.
    pub(super) fn count_fitting(
        mut self,
        tokens: impl Iterator<Item = i64>,
        has_room: impl Fn(Self, i64) -> bool,
    ) -> Result<usize, i64> {
        let mut count = 0;
        for tokens in tokens {
            if !has_room(self, tokens) {
                return if count > 0 { Ok(count) } else { Err(tokens) };
            }
            self = self.with(tokens);
            count += 1;
        }
        Ok(count)
    }
}

#[derive(Debug)]
struct Slot {
    second: i64,
    sent: Volume,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reservation {
    /// The number of its slot among all that ever were.
    slot: u64,
    tokens: i64,
}

/// What a replica was sent in the last 60 s, compared with its limits. Without limits, no use is counted.
#[derive(Debug)]
pub(super) struct RateWindow {
    pub(super) limits: RateLimits,
    /// Those in which something was sent, in order.
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    first: u64,
    /// Moving mean of the tokens that a request reserves.
    mean_tokens: i64,
    /// Estimated tokens of the next request while it waits for room; else 0.
    wanted: i64,
}

impl RateWindow {
    pub(super) const fn new(limits: RateLimits) -> Self {
        Self { limits, slots: VecDeque::new(), first: 0, mean_tokens: 0, wanted: 0 }
    }

    /// Forgets what no longer counts. If the clock was set back, requests do not count longer.
    pub(super) fn pass(&mut self, now: i64) {
        let second = now.div_euclid(SLOT_MS);
        let ahead = self.slots.back().map_or(0, |newest| newest.second - second).max(0);
        self.slots.iter_mut().for_each(|slot| slot.second -= ahead);
        while self.slots.front().is_some_and(|slot| slot.second + SLOTS <= second) {
            self.slots.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn is_empty(&self, now: i64) -> bool {
        self.counted(now).next().is_none()
    }

    fn counted(&self, now: i64) -> impl Iterator<Item = &Slot> {
        let second = now.div_euclid(SLOT_MS);
        self.slots.iter().filter(move |slot| slot.second + SLOTS > second)
    }

    fn used(&self, now: i64) -> Volume {
        self.counted(now).fold(Volume::NONE, |sum, slot| sum.and(slot.sent))
    }

    fn has_room(&self, used: Volume, tokens: i64) -> bool {
        let RateLimits { requests_per_minute, tokens_per_minute } = self.limits;
        used.leaves_room(requests_per_minute, tokens_per_minute, tokens)
    }

    pub(super) fn fits(&self, tokens: i64, now: i64) -> bool {
        !self.limits.are_set() || self.has_room(self.used(now), tokens)
    }

    /// How many of the next requests may be sent at `now`, after `unsent` others; as an error, the tokens of the first if it may not.
    pub(super) fn count_fitting(
        &self,
        unsent: Volume,
        tokens: impl Iterator<Item = i64>,
        now: i64,
    ) -> Result<usize, i64> {
        if !self.limits.are_set() {
            return Ok(usize::MAX);
        }
        let used = self.used(now).and(unsent);
        used.count_fitting(tokens, |used, tokens| self.has_room(used, tokens))
    }

    /// About how many requests may be sent at `now`: none while the next one waits for room.
    pub(super) fn room(&self, now: i64) -> usize {
        if !self.limits.are_set() {
            return usize::MAX;
        }
        let used = self.used(now);
        if !self.has_room(used, self.wanted.max(1)) {
            return 0;
        }
        let by_requests = self.limits.requests_per_minute.map(|most| i64::from(most) - used.requests);
        let by_tokens = |most: i64| ((most - used.tokens) / self.mean_tokens.max(1)).max(1);
        let by_tokens = self.limits.tokens_per_minute.map(by_tokens);
        let room = by_requests.into_iter().chain(by_tokens).min();
        room.and_then(|room| usize::try_from(room).ok()).unwrap_or(usize::MAX)
    }

    /// When a request of so many tokens may be sent: `now`, or as soon as enough no longer counts.
    pub(super) fn room_at(&self, tokens: i64, now: i64) -> i64 {
        let mut used = self.used(now);
        let mut at = now;
        for slot in self.counted(now) {
            if self.has_room(used, tokens) {
                break;
            }
            used = used.without(slot.sent);
            at = (slot.second + SLOTS) * SLOT_MS;
        }
        at
    }

    /// When the next request may be sent, if none may at `now`.
    pub(super) fn opens_at(&self, now: i64) -> Option<i64> {
        Some(self.room_at(self.wanted.max(1), now)).filter(|at| *at > now)
    }

    /// The next request takes so many tokens and waits for room; 0 if none waits any more.
    pub(super) const fn want(&mut self, tokens: i64) {
        self.wanted = tokens;
    }

    /// `tokens` as estimated.
    pub(super) fn reserve(&mut self, tokens: i64, now: i64) -> Option<Reservation> {
        if !self.limits.are_set() {
            return None;
        }
        self.pass(now);
        self.wanted = 0;
        self.mean_tokens = match self.mean_tokens {
            0 => tokens,
            mean => mean + (tokens - mean) / 16,
        };
        let second = now.div_euclid(SLOT_MS);
        if self.slots.back().is_none_or(|newest| newest.second < second) {
            self.slots.push_back(Slot { second, sent: Volume::NONE });
        }
        let newest = self.slots.back_mut()?;
        newest.sent = newest.sent.with(tokens);
        Some(Reservation { slot: self.first + self.slots.len() as u64 - 1, tokens })
    }

    /// A request completed: its real tokens count instead of the reserved ones, while those count.
    pub(super) fn correct(&mut self, reservation: Reservation, tokens: i64) {
        if let Some(sent) = self.sent_with(reservation) {
            sent.tokens = sent.tokens.saturating_sub(reservation.tokens).saturating_add(tokens);
        }
    }

    /// The request never reached the engine: it does not count.
    pub(super) fn cancel(&mut self, reservation: Reservation) {
        if let Some(sent) = self.sent_with(reservation) {
            *sent = sent.without(Volume::NONE.with(reservation.tokens));
        }
    }

    fn sent_with(&mut self, reservation: Reservation) -> Option<&mut Volume> {
        let index = usize::try_from(reservation.slot.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(index).map(|slot| &mut slot.sent)
    }
}
