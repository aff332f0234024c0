//! Daily budgets of hosted APIs: requests and tokens that a replica is sent between 00:00 and 24:00 UTC.
//!
//! The store keeps the sum of all nodes for each day (`engine_days`), so a restart or another node continues from it. About once a second
//! the scheduler asks to add what was sent and corrected since, and the answer is the sum. No request is sent on a day before its sum is
//! known. Tokens are reserved and corrected like those of rate limits. A request counts on the day on which it was sent.

use std::collections::BTreeMap;

use super::keys::{ModelKey, ReplicaKey};
use super::rate_window::Volume;

const DAY_MS: i64 = 86_400_000;
/// If no request fits, others are tried after this time: they may need less.
const RETRY_MS: i64 = 60_000;

/// Limits of what a replica is sent on a UTC day; `None` without a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DailyLimits {
    /// Requests, probes included.
    pub requests_per_day: Option<u32>,
    /// Tokens of input and output.
    pub tokens_per_day: Option<i64>,
}

impl DailyLimits {
    /// Whether there is any limit.
    pub const fn are_set(&self) -> bool {
        self.requests_per_day.is_some() || self.tokens_per_day.is_some()
    }
}

/// What a replica used on a day, or what is to be added to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DailyUse {
    /// The replica.
    pub replica: ReplicaKey,
    /// The day, in days since the Unix epoch.
    pub day: i64,
    /// Requests.
    pub requests: i64,
    /// Tokens; negative in a correction that lowers the sum.
    pub tokens: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DailyReservation {
    day: i64,
    tokens: i64,
}

/// What a replica used today, compared with its limits. Without limits, no use is counted.
#[derive(Debug)]
pub(super) struct DailyBudget {
    replica: ReplicaKey,
    limits: DailyLimits,
    /// In days since the Unix epoch.
    day: i64,
    /// The store's last sum; `None` before the first.
    stored: Option<Volume>,
    /// Being added to the store's sum.
    writing: Option<Volume>,
    unwritten: Volume,
    /// Models of which no request fits, and until when that is assumed.
    held_back: BTreeMap<ModelKey, i64>,
    /// Until then others may take the replica's work: a request of some account did not fit.
    short_until: i64,
}

impl DailyBudget {
    pub(super) const fn new(replica: ReplicaKey, limits: DailyLimits) -> Self {
        Self {
            replica,
            limits,
            day: i64::MIN,
            stored: None,
            writing: None,
            unwritten: Volume::NONE,
            held_back: BTreeMap::new(),
            short_until: i64::MIN,
        }
    }

    pub(super) const fn is_set(&self) -> bool {
        self.limits.are_set()
    }

    pub(super) fn set_limits(&mut self, limits: DailyLimits) {
        if self.limits != limits {
            self.limits = limits;
            self.forget_stored();
        }
    }

    /// Others may have used some: the store is asked again before anything is sent.
    pub(super) fn forget_stored(&mut self) {
        self.stored = None;
        self.retry();
    }

    /// Time passed: another day, later or earlier, is counted anew. Returns what is still to be added to the previous day.
    pub(super) fn pass(&mut self, now: i64) -> Option<DailyUse> {
        // If the clock was set back, these times do not last longer.
        let lasts = |until: i64| (now..=now.saturating_add(RETRY_MS)).contains(&until);
        self.held_back.retain(|_, until| lasts(*until));
        if !lasts(self.short_until) {
            self.short_until = i64::MIN;
        }
        let day = now.div_euclid(DAY_MS);
        if day == self.day {
            return None;
        }
        let rest = self.take_unwritten();
        (self.day, self.writing) = (day, None);
        self.forget_stored();
        rest
    }

    /// What is to be added to the day, if there is any or the sum is unknown; one question at a time.
    pub(super) fn ask(&mut self) -> Option<DailyUse> {
        let is_unknown = self.is_set() && self.stored.is_none();
        let is_due = is_unknown || self.unwritten != Volume::NONE;
        if self.writing.is_some() || !is_due {
            return None;
        }
        self.writing = Some(self.unwritten);
        let used = self.use_of(self.unwritten);
        self.unwritten = Volume::NONE;
        Some(used)
    }

    /// What is to be added to the day, even while an answer is awaited: for the end, when there are no more questions.
    pub(super) fn take_unwritten(&mut self) -> Option<DailyUse> {
        let unwritten = std::mem::replace(&mut self.unwritten, Volume::NONE);
        (unwritten != Volume::NONE).then(|| self.use_of(unwritten))
    }

    const fn use_of(&self, volume: Volume) -> DailyUse {
        let Volume { requests, tokens } = volume;
        DailyUse { replica: self.replica, day: self.day, requests, tokens }
    }

    /// What was asked for was added; `sum` is the sum of its day.
    pub(super) fn note_stored(&mut self, sum: DailyUse) {
        if sum.day == self.day {
            self.writing = None;
            self.stored = Some(Volume { requests: sum.requests, tokens: sum.tokens });
        }
    }

    /// Whether the sum of the day must be asked for immediately.
    pub(super) const fn is_unknown(&self) -> bool {
        self.is_set() && self.stored.is_none() && self.writing.is_none()
    }

    /// Whether the store knows all use.
    pub(super) fn is_written(&self) -> bool {
        self.writing.is_none() && self.unwritten == Volume::NONE
    }

    /// Today's use, requests in flight as estimated; `None` if unknown or not counted.
    pub(super) fn used(&self) -> Option<Volume> {
        let stored = self.stored.filter(|_| self.is_set())?;
        Some(stored.and(self.writing.unwrap_or(Volume::NONE)).and(self.unwritten))
    }

    fn has_room(&self, used: Volume, tokens: i64) -> bool {
        let DailyLimits { requests_per_day, tokens_per_day } = self.limits;
        used.leaves_room(requests_per_day, tokens_per_day, tokens)
    }

    /// Whether a request of so many tokens may be sent today; `None` if not known yet. One that exceeds the whole budget may be sent if no
    /// other tokens count.
    pub(super) fn fits(&self, tokens: i64) -> Option<bool> {
        match self.is_set() {
            true => self.used().map(|used| self.has_room(used, tokens)),
            false => Some(true),
        }
    }

    /// How many of the next requests may be sent today, after `unsent` others; `None` if the first may not.
    pub(super) fn count_fitting(&self, unsent: Volume, tokens: impl Iterator<Item = i64>) -> Option<usize> {
        if !self.is_set() {
            return Some(usize::MAX);
        }
        let used = self.used()?.and(unsent);
        used.count_fitting(tokens, |used, tokens| self.has_room(used, tokens)).ok()
    }

    /// Maximum of requests that may be sent today; 0 while unknown.
    pub(super) fn room(&self) -> usize {
        if !self.is_set() {
            return usize::MAX;
        }
        let Some(used) = self.used().filter(|used| self.has_room(*used, 1)) else { return 0 };
        let left = self.limits.requests_per_day.map(|most| i64::from(most) - used.requests);
        left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(0))
    }

    /// Whether, as far as is known, no more requests of the model are sent today.
    pub(super) fn is_spent_for(&self, model: ModelKey) -> bool {
        self.fits(1) == Some(false) || self.held_back.contains_key(&model)
    }

    /// Whether some account's next request did not fit lately, so that others may take what waits for the replica.
    pub(super) const fn is_short(&self) -> bool {
        self.short_until > i64::MIN
    }

    pub(super) const fn ends_at(&self) -> i64 {
        self.day.saturating_add(1).saturating_mul(DAY_MS)
    }

    /// Some account's next request takes more than is left.
    pub(super) const fn note_short(&mut self, now: i64) {
        self.short_until = now.saturating_add(RETRY_MS);
    }

    /// None of the model's next requests fits.
    pub(super) fn hold_back(&mut self, model: ModelKey, now: i64) {
        self.note_short(now);
        self.held_back.insert(model, now.saturating_add(RETRY_MS));
    }

    fn retry(&mut self) {
        self.held_back.clear();
        self.short_until = i64::MIN;
    }

    /// `tokens` as estimated.
    pub(super) fn reserve(&mut self, tokens: i64) -> Option<DailyReservation> {
        self.is_set().then(|| {
            self.unwritten = self.unwritten.with(tokens);
            DailyReservation { day: self.day, tokens }
        })
    }

    /// A request took `tokens`. Corrects only what was sent on the same day.
    pub(super) fn correct(&mut self, reservation: DailyReservation, tokens: i64) {
        if reservation.day != self.day {
            return;
        }
        let more = tokens.saturating_sub(reservation.tokens);
        self.unwritten.tokens = self.unwritten.tokens.saturating_add(more);
        if more < 0 {
            self.retry();
        }
    }

    /// The request never reached the engine: it does not count.
    pub(super) fn cancel(&mut self, reservation: DailyReservation) {
        if reservation.day == self.day {
            self.unwritten = self.unwritten.without(Volume::NONE.with(reservation.tokens));
            self.retry();
        }
    }
}
