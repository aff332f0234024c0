//! How fast the requests of a partition are worked off.

/// What requests of one account take, as they were seen lately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The part of their estimated cost that they use.
    pub used_part: f64,
    /// For how many milliseconds a unit of the cost that they use takes a slot of an engine.
    pub slot_ms: f64,
    /// For how many milliseconds a request does, in the mean.
    pub request_ms: f64,
    /// The part of the model's slots in use that they take, where the account holds as many as it may beside others.
    pub most_part: Option<f64>,
}

/// The part of their estimated cost that requests of an account are expected to use: as those completed lately did. An account that asks
/// for more output than it gets is charged what it will use, for what is refunded later may be more than it may save up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UsedPart {
    used: i64,
    cost: i64,
}

impl Default for UsedPart {
    fn default() -> Self {
        Self { used: 1, cost: 1 }
    }
}

impl UsedPart {
    /// Of a request's estimated cost; 1 at least.
    pub(super) fn of(self, cost: i64) -> i64 {
        let part = i128::from(cost) * i128::from(self.used) / i128::from(self.cost);
        i64::try_from(part).unwrap_or(i64::MAX).max(1)
    }
}

/// What was done longer ago than about this counts half, in milliseconds of work.
const HALF_MS: i64 = 300_000;
/// Less work than this tells nothing, in milliseconds.
const KNOWN_MS: i64 = 10_000;

/// So do fewer completions.
const KNOWN_COMPLETIONS: u32 = 16;

/// So many completions are the recent ones; those before them count half.
const RECENT: u32 = 256;

/// What recent completions took.
#[derive(Debug, Default, Clone, Copy)]
struct Recent {
    completions: u32,
    cost: i64,
    used: i64,
    slot_ms: i64,
}

impl Recent {
    const fn note(&mut self, cost: i64, used: i64, slot_ms: i64) {
        if self.completions >= RECENT {
            *self = Self {
                completions: self.completions / 2,
                cost: self.cost / 2,
                used: self.used / 2,
                slot_ms: self.slot_ms / 2,
            };
        }
        self.completions += 1;
        self.cost = self.cost.saturating_add(cost);
        self.used = self.used.saturating_add(used);
        self.slot_ms = self.slot_ms.saturating_add(slot_ms);
    }
}

/// The cost completed in a time of work: while engines are away, it stays what it was.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    cost: i64,
    recent: Recent,
    completions: u32,
    busy_ms: i64,
    /// The part of that time in which no more might be leased.
    held_back_ms: i64,
    /// Slots taken in that part, times milliseconds.
    taken_ms: i64,
    passed_at: Option<i64>,
}

impl Throughput {
    /// A request was completed whose estimated cost was so much, which `used` so much and took a slot for `slot_ms`.
    pub(super) const fn note_completion(&mut self, cost: i64, used: i64, slot_ms: i64) {
        self.cost = self.cost.saturating_add(cost);
        self.recent.note(cost, used, slot_ms);
        self.completions = self.completions.saturating_add(1);
    }

    /// Time passed, in which requests were leased or not, and took so many slots where no more might be leased. Called about once a
    /// second.
    pub(super) fn pass(&mut self, is_busy: bool, most_taken: Option<usize>, now: i64) {
        let since = self.passed_at.replace(now);
        if !is_busy {
            return;
        }
        let ms = since.map_or(0, |since| (now - since).clamp(0, KNOWN_MS));
        self.busy_ms += ms;
        if self.busy_ms >= 2 * HALF_MS {
            self.busy_ms /= 2;
            self.cost /= 2;
        }
        if let Some(taken) = most_taken {
            self.held_back_ms += ms;
            self.taken_ms =
                self.taken_ms.saturating_add(ms.saturating_mul(i64::try_from(taken).unwrap_or(0)));
        }
        if self.held_back_ms >= 2 * HALF_MS {
            self.held_back_ms /= 2;
            self.taken_ms /= 2;
        }
    }

    /// What its requests take; `None` where that is not known yet.
    pub(super) fn pace(&self) -> Option<Pace> {
        self.known().map(|Recent { cost, used, slot_ms, completions }| Pace {
            used_part: used as f64 / cost as f64,
            slot_ms: slot_ms as f64 / used as f64,
            request_ms: slot_ms as f64 / f64::from(completions),
            most_part: None,
        })
    }

    /// The part of their cost that its requests are expected to use; `None` where that is not known yet.
    pub(super) fn used_part(&self) -> Option<UsedPart> {
        self.known().map(|Recent { used, cost, .. }| UsedPart { used, cost })
    }

    fn known(&self) -> Option<Recent> {
        let Recent { cost, used, .. } = self.recent;
        (self.completions >= KNOWN_COMPLETIONS && cost > 0 && used > 0).then_some(self.recent)
    }

    /// How many slots its requests took in the mean, while no more might be leased; `None` where that is not known yet.
    pub(super) fn most_taken(&self) -> Option<f64> {
        (self.held_back_ms >= KNOWN_MS).then(|| self.taken_ms as f64 / self.held_back_ms as f64)
    }

    /// How long work of this cost takes, in milliseconds; `None` where that is not known yet.
    pub(super) fn ms_for(&self, cost: i64) -> Option<i64> {
        if self.busy_ms < KNOWN_MS || self.completions < KNOWN_COMPLETIONS || self.cost == 0 {
            return None;
        }
        let ms = i128::from(cost.max(0)) * i128::from(self.busy_ms) / i128::from(self.cost);
        Some(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_cost_completed_in_the_time_of_work() {
        let mut throughput = Throughput::default();
        for second in 0..=9 {
            throughput.pass(true, Some(7), second * 1_000);
            throughput.note_completion(25, 10, 70);
            throughput.note_completion(25, 10, 70);
        }
        assert_eq!(throughput.ms_for(500), None, "nine seconds tell nothing");
        throughput.pass(true, Some(7), 10_000);
        assert_eq!(throughput.ms_for(500), Some(10_000));
        assert_eq!(throughput.most_taken(), Some(7.0));
        assert_eq!(
            throughput.pace(),
            Some(Pace { used_part: 0.4, slot_ms: 7.0, request_ms: 70.0, most_part: None })
        );
        throughput.pass(false, None, 500_000);
        throughput.pass(true, None, 500_000);
        assert_eq!(throughput.ms_for(500), Some(10_000), "an outage is no work");
        assert_eq!(throughput.ms_for(i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn a_few_completions_tell_nothing() {
        let mut throughput = Throughput::default();
        (0..=60).for_each(|second| throughput.pass(true, None, second * 1_000));
        for known in [false, true] {
            (0..15).for_each(|_| throughput.note_completion(1, 1, 1));
            assert_eq!(throughput.ms_for(500).is_some(), known);
            assert_eq!(throughput.pace().is_some(), known);
        }
    }

    #[test]
    fn what_requests_take_follows_a_change_within_some_hundreds() {
        let mut throughput = Throughput::default();
        (0..9_000).for_each(|_| throughput.note_completion(100, 50, 10));
        (0..2_000).for_each(|_| throughput.note_completion(100, 25, 100));
        let pace = throughput.pace().unwrap();
        assert!((0.24..0.26).contains(&pace.used_part) && (3.9..4.1).contains(&pace.slot_ms), "{pace:?}");
    }

    #[test]
    fn it_follows_a_change_within_minutes() {
        let mut throughput = Throughput::default();
        for second in 0..3_600 {
            throughput.pass(true, None, second * 1_000);
            throughput.note_completion(if second < 2_400 { 100 } else { 200 }, 50, 9);
        }
        let ms = throughput.ms_for(200).unwrap();
        assert!((1_000..1_100).contains(&ms), "{ms}");
    }
}
