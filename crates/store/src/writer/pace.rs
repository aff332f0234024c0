//! The share of the writer's time for large intake. A commit of some MiB takes many times as long as others, so after a group of large
//! intake that made others wait, the next one rests four times as long as it took: others have most of the time.

/// A shorter group needs no rest.
const NOTICED_MS: i64 = 15;
/// Rest of large intake, as a multiple of its duration.
const REST_TIMES: i64 = 4;
const REST_MS_MAX: i64 = 1_000;

#[derive(Debug, Default)]
pub(super) struct Pace {
    rests_until: i64,
}

impl Pace {
    /// A group of large intake took from `began` to `now`, and others waited.
    pub(super) fn made_others_wait(&mut self, began: i64, now: i64) {
        let took = now - began;
        if took >= NOTICED_MS {
            self.rests_until = now + (REST_TIMES * took).min(REST_MS_MAX);
        }
    }

    pub(super) fn rest(&self, now: i64) -> Option<i64> {
        // The machine's clock may step back.
        (now < self.rests_until && self.rests_until <= now + REST_MS_MAX).then_some(self.rests_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_intake_rests_four_times_as_long_as_it_made_others_wait() {
        let mut pace = Pace::default();
        pace.made_others_wait(0, 14);
        assert_eq!(pace.rest(14), None, "hardly a wait");
        pace.made_others_wait(100, 140);
        assert_eq!([140, 299, 300].map(|now| pace.rest(now)), [Some(300), Some(300), None]);
        pace.made_others_wait(200, 60_200);
        assert_eq!(pace.rest(60_200), Some(61_200), "not for ever");
    }

    #[test]
    fn a_clock_that_steps_back_ends_the_rest() {
        let mut pace = Pace::default();
        pace.made_others_wait(5_000, 5_040);
        assert_eq!(pace.rest(1_000), None);
    }
}
