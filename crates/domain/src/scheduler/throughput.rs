//! How fast the requests of a partition are worked off, or a replica works.

/// What was done longer ago than about this counts half, in milliseconds of work.
const HALF_MS: i64 = 300_000;
/// Less work than this tells nothing, in milliseconds.
const KNOWN_MS: i64 = 10_000;

/// So do fewer completions.
const KNOWN_COMPLETIONS: u32 = 16;

/// The cost completed in a time of work: while engines are away, it stays what it was.
#[derive(Debug, Default)]
pub(super) struct Throughput {
    cost: i64,
    used: i64,
    completions: u32,
    busy_ms: i64,
    passed_at: Option<i64>,
}

impl Throughput {
    /// A request was completed whose estimated cost was so much, and which `used` so much.
    pub(super) const fn note_completion(&mut self, cost: i64, used: i64) {
        self.cost = self.cost.saturating_add(cost);
        self.used = self.used.saturating_add(used);
        self.completions = self.completions.saturating_add(1);
    }

    /// Time passed, in which requests were in flight or not. Called about once a second.
    pub(super) fn pass(&mut self, is_busy: bool, now: i64) {
        let since = self.passed_at.replace(now);
        if !is_busy {
            return;
        }
        self.busy_ms += since.map_or(0, |since| (now - since).clamp(0, KNOWN_MS));
        if self.busy_ms >= 2 * HALF_MS {
            self.busy_ms /= 2;
            self.cost /= 2;
            self.used /= 2;
        }
    }

    /// The work that was used in a millisecond; `None` where that is not known yet.
    pub(super) fn rate(&self) -> Option<f64> {
        self.is_known().then(|| self.used as f64 / self.busy_ms as f64)
    }

    /// How much of their estimated cost requests use, as a factor; `None` where that is not known yet.
    pub(super) fn used_part(&self) -> Option<f64> {
        let is_known = self.completions >= KNOWN_COMPLETIONS && self.cost > 0;
        is_known.then(|| self.used as f64 / self.cost as f64)
    }

    const fn is_known(&self) -> bool {
        self.busy_ms >= KNOWN_MS && self.completions >= KNOWN_COMPLETIONS && self.cost > 0
    }

    /// How long work of this cost takes, in milliseconds; `None` where that is not known yet.
    pub(super) fn ms_for(&self, cost: i64) -> Option<i64> {
        if !self.is_known() {
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
            throughput.pass(true, second * 1_000);
            throughput.note_completion(25, 10);
            throughput.note_completion(25, 10);
        }
        assert_eq!(throughput.ms_for(500), None, "nine seconds tell nothing");
        throughput.pass(true, 10_000);
        assert_eq!(throughput.ms_for(500), Some(10_000));
        assert_eq!((throughput.rate(), throughput.used_part()), (Some(0.02), Some(0.4)));
        throughput.pass(false, 500_000);
        throughput.pass(true, 500_000);
        assert_eq!(throughput.ms_for(500), Some(10_000), "an outage is no work");
        assert_eq!(throughput.ms_for(i64::MAX), Some(i64::MAX));
    }

    #[test]
    fn a_few_completions_tell_nothing() {
        let mut throughput = Throughput::default();
        (0..=60).for_each(|second| throughput.pass(true, second * 1_000));
        for known in [false, true] {
            (0..15).for_each(|_| throughput.note_completion(1, 1));
            assert_eq!(throughput.ms_for(500).is_some(), known);
            assert_eq!(throughput.rate().is_some(), known);
            assert_eq!(throughput.used_part().is_some(), known);
        }
    }

    #[test]
    fn it_follows_a_change_within_minutes() {
        let mut throughput = Throughput::default();
        for second in 0..3_600 {
            throughput.pass(true, second * 1_000);
            throughput.note_completion(if second < 2_400 { 100 } else { 200 }, 50);
        }
        let ms = throughput.ms_for(200).unwrap();
        assert!((1_000..1_100).contains(&ms), "{ms}");
    }
}
