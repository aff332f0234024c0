//! How fast the requests of a partition are worked off.

/// What requests of one account took lately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// The part of their estimated cost that they use.
    pub used_part: f64,
    /// Slot time per unit of the cost that they use, in milliseconds.
    pub slot_ms: f64,
    /// Mean slot time of a request, in milliseconds.
    pub request_ms: f64,
    /// The part of the model's slots in use that they take, if the account holds as many as it may among others.
    pub most_part: Option<f64>,
}

/// The part of their estimated cost that requests of an account are expected to use, as those completed lately did. An account that asks
/// for more output than it gets is charged what it will use, because a later refund may be more than it may save.
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
    /// At least 1.
    pub(super) fn of(self, cost: i64) -> i64 {
        let part = i128::from(cost) * i128::from(self.used) / i128::from(self.cost);
        i64::try_from(part).unwrap_or(i64::MAX).max(1)
    }
}

/// Work from longer ago than about this counts half, in milliseconds of work.
const HALF_MS: i64 = 300_000;
/// Less work is no evidence.
const KNOWN_MS: i64 = 10_000;

/// Neither are fewer completions.
const KNOWN_COMPLETIONS: u32 = 16;

/// Completions that are recent; those before them count half.
const RECENT: u32 = 256;

#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    completions: u32,
    cost: i64,
    used: i64,
    slot_ms: i64,
}

impl Sums {
    const fn halve(&mut self) {
        *self = Self {
            completions: self.completions / 2,
            cost: self.cost / 2,
            used: self.used / 2,
            slot_ms: self.slot_ms / 2,
        };
    }

    const fn note(&mut self, cost: i64, used: i64, slot_ms: i64) {
        self.completions = self.completions.saturating_add(1);
        self.cost = self.cost.saturating_add(cost);
        self.used = self.used.saturating_add(used);
        self.slot_ms = self.slot_ms.saturating_add(slot_ms);
    }
}

/// The cost completed in a time of work; unchanged while engines are unavailable.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    cost: i64,
    /// The last few hundred completions.
    recent: Sums,
    /// Those of the last minutes of work, and at least as many as are recent: accounts take turns that may be minutes long, and what
    /// requests take differs from the beginning of a turn to its end.
    lately: Sums,
    /// Time in `lately` since it was halved.
    lately_ms: i64,
    completions: u32,
    busy_ms: i64,
    /// Slots taken while no more might be leased, times milliseconds.
    taken_ms: i64,
    /// Slots taken by all accounts meanwhile.
    all_taken_ms: i64,
    held_back_ms: i64,
    /// No more might be leased when time last passed.
    is_held_back: bool,
    passed_at: Option<i64>,
}

impl Throughput {
    /// A request of this estimated cost completed, which `used` so much and took a slot for `slot_ms`.
    pub(super) const fn note_completion(&mut self, cost: i64, used: i64, slot_ms: i64) {
        self.cost = self.cost.saturating_add(cost);
        if self.recent.completions >= RECENT {
            self.recent.halve();
        }
        self.recent.note(cost, used, slot_ms);
        self.lately.note(cost, used, slot_ms);
        self.completions = self.completions.saturating_add(1);
    }

    /// Time passed. `most_taken` is the slots taken by its requests and by all accounts, if no more might be leased. Called about once a
    /// second.
    pub(super) fn pass(&mut self, waits: bool, is_busy: bool, most_taken: Option<(usize, usize)>, now: i64) {
        let ms = self.passed_at.replace(now).map_or(0, |since| (now - since).clamp(0, KNOWN_MS));
        self.is_held_back = is_busy && most_taken.is_some();
        if is_busy {
            self.pass_busy(most_taken, ms);
        }
        if waits || is_busy {
            self.lately_ms += ms;
        }
        // After a pause, requests may differ.
        let least_ms = if waits || is_busy { 2 * HALF_MS } else { 1 };
        while self.lately_ms >= least_ms && self.lately.completions > RECENT {
            self.lately_ms /= 2;
            self.lately.halve();
        }
    }

    fn pass_busy(&mut self, most_taken: Option<(usize, usize)>, ms: i64) {
        self.busy_ms += ms;
        if self.busy_ms >= 2 * HALF_MS {
            self.busy_ms /= 2;
            self.cost /= 2;
        }
        if let Some((taken, all)) = most_taken {
            let slot_ms = |slots| ms.saturating_mul(i64::try_from(slots).unwrap_or(0));
            self.held_back_ms += ms;
            self.taken_ms = self.taken_ms.saturating_add(slot_ms(taken));
            self.all_taken_ms = self.all_taken_ms.saturating_add(slot_ms(all));
        }
        if self.held_back_ms >= 2 * HALF_MS {
            self.held_back_ms /= 2;
            self.taken_ms /= 2;
            self.all_taken_ms /= 2;
        }
    }

    /// Mean slot time of a recent request, in milliseconds; 0 if none completed.
    pub(super) fn request_ms(&self) -> i64 {
        self.recent.slot_ms / i64::from(self.recent.completions.max(1))
    }

    /// `None` if not known yet.
    pub(super) fn pace(&self) -> Option<Pace> {
        self.known(self.lately).map(|Sums { cost, used, slot_ms, completions }| Pace {
            used_part: used as f64 / cost as f64,
            slot_ms: slot_ms as f64 / used as f64,
            request_ms: slot_ms as f64 / f64::from(completions),
            most_part: self.most_part(),
        })
    }

    /// `None` if not known yet.
    pub(super) fn used_part(&self) -> Option<UsedPart> {
        self.known(self.recent).map(|Sums { used, cost, .. }| UsedPart { used, cost })
    }

    /// The cost that completed requests use in this slot time; `None` if not known yet.
    pub(super) fn used_in(&self, slot_ms: i64) -> Option<i64> {
        let Sums { used, slot_ms: all_ms, .. } = self.known(self.recent)?;
        let worth = i128::from(used) * i128::from(slot_ms.max(0)) / i128::from(all_ms.max(1));
        Some(i64::try_from(worth).unwrap_or(i64::MAX))
    }

    fn known(&self, sums: Sums) -> Option<Sums> {
        (self.completions >= KNOWN_COMPLETIONS && sums.cost > 0 && sums.used > 0).then_some(sums)
    }

    /// The mean part of the taken slots that its requests had while no more might be leased; `None` if more may be by now, or if not known
    /// yet.
    fn most_part(&self) -> Option<f64> {
        let is_known = self.is_held_back && self.held_back_ms >= KNOWN_MS && self.taken_ms > 0;
        is_known.then(|| self.taken_ms as f64 / self.all_taken_ms.max(self.taken_ms) as f64)
    }

    /// How many of its requests are completed in a time while some wait, as of late; `None` if not known yet.
    pub(super) fn completions_in(&self, ms: i64) -> Option<i64> {
        let is_known = self.lately_ms >= KNOWN_MS && self.lately.completions >= KNOWN_COMPLETIONS;
        is_known.then(|| i64::from(self.lately.completions).saturating_mul(ms) / self.lately_ms)
    }

    /// How long work of this cost takes, in milliseconds; `None` if not known yet.
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
            throughput.pass(true, true, Some((7, 8)), second * 1_000);
            throughput.note_completion(25, 10, 70);
            throughput.note_completion(25, 10, 70);
        }
        assert_eq!(throughput.ms_for(500), None, "nine seconds tell nothing");
        throughput.pass(true, true, Some((7, 8)), 10_000);
        assert_eq!(throughput.ms_for(500), Some(10_000));
        let pace = |most_part| Some(Pace { used_part: 0.4, slot_ms: 7.0, request_ms: 70.0, most_part });
        assert_eq!(throughput.pace(), pace(Some(0.875)));
        throughput.pass(false, false, None, 500_000);
        assert_eq!(throughput.pace(), pace(None));
        throughput.pass(true, true, None, 500_000);
        assert_eq!(throughput.ms_for(500), Some(10_000), "an outage is no work");
        assert_eq!(throughput.ms_for(i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn what_was_done_more_than_ten_minutes_of_work_ago_counts_less_and_less() {
        let mut throughput = Throughput::default();
        for second in 0..=1_200 {
            let (taken, completions) = if second > 600 { (4, 2) } else { (8, 1) };
            throughput.pass(true, true, Some((taken, 8)), second * 1_000);
            (0..completions).for_each(|_| throughput.note_completion(10, 5, 70));
        }
        // All counts half each five minutes from the tenth on: 3,010 and 5,980 count half twice and once, and so on.
        assert_eq!(throughput.ms_for(5_267), Some(300_000));
        assert_eq!(throughput.pace().unwrap().most_part, Some(0.625));
    }

    #[test]
    fn a_few_completions_tell_nothing() {
        let mut throughput = Throughput::default();
        (0..=60).for_each(|second| throughput.pass(true, true, None, second * 1_000));
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
        let part = throughput.used_part().unwrap().of(100);
        assert!((24..=25).contains(&part), "{part}");
    }

    #[test]
    fn a_pace_is_that_of_the_last_minutes_of_work_and_of_a_few_hundred_completions_at_least() {
        for (per_second, follows) in [(10, false), (0, true)] {
            let mut throughput = Throughput::default();
            for second in 0..3_600 {
                throughput.pass(true, true, None, second * 1_000);
                (0..per_second + i64::from(second % 60 == 0))
                    .for_each(|_| throughput.note_completion(2, 1, 1));
            }
            (0..256).for_each(|_| throughput.note_completion(2, 1, 9));
            let slot_ms = throughput.pace().unwrap().slot_ms;
            assert_eq!(slot_ms > 5.0, follows, "{slot_ms}");
        }
    }

    #[test]
    fn after_a_pause_a_pace_follows_a_change_within_some_hundreds() {
        let mut throughput = Throughput::default();
        throughput.pass(true, true, None, 0);
        (0..9_000).for_each(|_| throughput.note_completion(100, 50, 10));
        throughput.pass(true, true, None, 10_000);
        throughput.pass(false, false, None, 20_000);
        (0..2_000).for_each(|_| throughput.note_completion(100, 25, 100));
        let pace = throughput.pace().unwrap();
        assert!((0.24..0.28).contains(&pace.used_part) && (3.5..4.1).contains(&pace.slot_ms), "{pace:?}");
    }

    #[test]
    fn it_follows_a_change_within_minutes() {
        let mut throughput = Throughput::default();
        for second in 0..3_600 {
            throughput.pass(true, true, None, second * 1_000);
            throughput.note_completion(if second < 2_400 { 100 } else { 200 }, 50, 9);
        }
        let ms = throughput.ms_for(200).unwrap();
        assert!((1_000..1_100).contains(&ms), "{ms}");
    }
}
