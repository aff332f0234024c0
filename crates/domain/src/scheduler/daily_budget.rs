//! Daily budgets of hosted APIs: how many requests and tokens a replica is sent between 00:00 and 24:00 UTC.
//!
//! The store adds up what was used on a day, so a restart or another node goes on from there: what was sent and corrected is added to
//! it about once a second, and its answer is the sum. Nothing is sent on a day before the store has told what was used on it.
//! Tokens are reserved and corrected as those of rate limits. A request counts on the day on which it was sent.
//!
//! A daily budget outlives the process. `domain::scheduler::daily_budget` counts what an engine was sent since 00:00 UTC. The
//! scheduler asks for that to be added to a row of the day (`engine_days`) about once a second, and the answer is the sum of all
//! nodes. Before it has heard the sum of a day, it sends nothing to the engine. An engine whose budget is used up is out for its
//! models like one outside its hours. An account whose next request takes more than is left is passed over, so that it stops no
//! other.

use std::collections::BTreeMap;

use super::keys::{ModelKey, ReplicaKey};
use super::rate_window::Volume;

const DAY_MS: i64 = 86_400_000;
/// Where no request fits into what is left, others are tried after this long: they may take less.
const RETRY_MS: i64 = 60_000;

/// What a replica is sent on a day at most, in UTC; `None` where there is no limit.
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
    /// Tokens; negative where a correction is to be added.
    pub tokens: i64,
}

/// What a request that was sent has reserved of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DailyReservation {
    day: i64,
    tokens: i64,
}

/// What a replica used today, held against its limits. Without limits nothing is counted.
#[derive(Debug)]
pub(super) struct DailyBudget {
    replica: ReplicaKey,
    limits: DailyLimits,
    /// The day that is counted, in days since the Unix epoch.
    day: i64,
    /// What was used on it, as the store said last; `None` where it has not said yet.
    stored: Option<Volume>,
    /// What is being added to that.
    writing: Option<Volume>,
    /// What is still to be added.
    unwritten: Volume,
    /// Models of which no request fits into what is left, and until when that is believed.
    held_back: BTreeMap<ModelKey, i64>,
    /// Until then others may take what is due to the replica: a request of some account did not fit.
    short_until: i64,
}

impl DailyBudget {
    /// A budget of which nothing is known yet.
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

    /// Whether anything is counted.
    pub(super) const fn is_set(&self) -> bool {
        self.limits.are_set()
    }

    /// The limits are these from now on.
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

    /// Time passed: another day, later or earlier, is counted anew. What is still to be added to the day before.
    pub(super) fn pass(&mut self, now: i64) -> Option<DailyUse> {
        // A clock that was set back makes nothing last longer.
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

    /// What is to be added to the day, if anything is, or the sum is not known yet; one at a time.
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

    /// What is to be added to the day, though an answer be awaited: nobody asks any more.
    pub(super) fn take_unwritten(&mut self) -> Option<DailyUse> {
        let unwritten = std::mem::replace(&mut self.unwritten, Volume::NONE);
        (unwritten != Volume::NONE).then(|| self.use_of(unwritten))
    }

    const fn use_of(&self, volume: Volume) -> DailyUse {
        let Volume { requests, tokens } = volume;
        DailyUse { replica: self.replica, day: self.day, requests, tokens }
    }

    /// What was asked for was added, and this is the sum of its day.
    pub(super) fn note_stored(&mut self, sum: DailyUse) {
        if sum.day == self.day {
            self.writing = None;
            self.stored = Some(Volume { requests: sum.requests, tokens: sum.tokens });
        }
    }

    /// Whether the sum of the day is to be asked for at once.
    pub(super) const fn is_unknown(&self) -> bool {
        self.is_set() && self.stored.is_none() && self.writing.is_none()
    }

    /// Whether everything was added to the store.
    pub(super) fn is_written(&self) -> bool {
        self.writing.is_none() && self.unwritten == Volume::NONE
    }

    /// What was used on the day, that of requests in flight as it is estimated; `None` where that is not known, or not counted.
    pub(super) fn used(&self) -> Option<Volume> {
        let stored = self.stored.filter(|_| self.is_set())?;
        Some(stored.and(self.writing.unwrap_or(Volume::NONE)).and(self.unwritten))
    }

    fn has_room(&self, used: Volume, tokens: i64) -> bool {
        let DailyLimits { requests_per_day, tokens_per_day } = self.limits;
        used.leaves_room(requests_per_day, tokens_per_day, tokens)
    }

    /// Whether a request of so many tokens may be sent today; `None` where that is not known yet. One that exceeds the whole budget
    /// may where no other tokens count.
    pub(super) fn fits(&self, tokens: i64) -> Option<bool> {
        match self.is_set() {
            true => self.used().map(|used| self.has_room(used, tokens)),
            false => Some(true),
        }
    }

    /// How many of the next requests may be sent today, after others that are `unsent` yet; `None` where the first may not.
    pub(super) fn count_fitting(&self, unsent: Volume, tokens: impl Iterator<Item = i64>) -> Option<usize> {
        if !self.is_set() {
            return Some(usize::MAX);
        }
        let used = self.used()?.and(unsent);
        used.count_fitting(tokens, |used, tokens| self.has_room(used, tokens)).ok()
    }

    /// How many requests may be sent today at most; none while that is not known.
    pub(super) fn room(&self) -> usize {
        if !self.is_set() {
            return usize::MAX;
        }
        let Some(used) = self.used().filter(|used| self.has_room(*used, 1)) else { return 0 };
        let left = self.limits.requests_per_day.map(|most| i64::from(most) - used.requests);
        left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(0))
    }

    /// Whether nothing of the model is sent today any more, as far as is known.
    pub(super) fn is_spent_for(&self, model: ModelKey) -> bool {
        self.fits(1) == Some(false) || self.held_back.contains_key(&model)
    }

    /// Whether some account's next request did not fit lately, so that what waits for the replica may be for others to take.
    pub(super) const fn is_short(&self) -> bool {
        self.short_until > i64::MIN
    }

    /// When the day ends, in milliseconds.
    pub(super) const fn ends_at(&self) -> i64 {
        self.day.saturating_add(1).saturating_mul(DAY_MS)
    }

    /// The next request of some account takes more than is left.
    pub(super) const fn note_short(&mut self, now: i64) {
        self.short_until = now.saturating_add(RETRY_MS);
    }

    /// No request of the model that could be next fits into what is left.
    pub(super) fn hold_back(&mut self, model: ModelKey, now: i64) {
        self.note_short(now);
        self.held_back.insert(model, now.saturating_add(RETRY_MS));
    }

    /// There may be room again.
    fn retry(&mut self) {
        self.held_back.clear();
        self.short_until = i64::MIN;
    }

    /// A request is sent that is estimated to take so many tokens.
    pub(super) fn reserve(&mut self, tokens: i64) -> Option<DailyReservation> {
        self.is_set().then(|| {
            self.unwritten = self.unwritten.with(tokens);
            DailyReservation { day: self.day, tokens }
        })
    }

    /// A request ended that took so many tokens. If it was sent on another day, that is not corrected.
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

    /// A request never reached the engine: it does not count.
    pub(super) fn cancel(&mut self, reservation: DailyReservation) {
        if reservation.day == self.day {
            self.unwritten = self.unwritten.without(Volume::NONE.with(reservation.tokens));
            self.retry();
        }
    }
}
