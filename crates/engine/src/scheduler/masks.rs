//! The time that forms may take from a step. All sequences wait while the tokens are found that one of them may draw next,
//! which a hostile form makes last a tenth of a second. So dear ones share a part of the time, and sit out steps meanwhile.

use std::time::Duration;

/// A form that takes no longer than this for a token takes part in every step.
const CHEAP: Duration = Duration::from_millis(1);
/// So does one that takes no more than this many times what the cheapest takes: those that are all dear do not wait for each other.
const TIMES_CHEAPEST: u32 = 8;
/// The others get this part of the time of steps,
const PART: u32 = 4;
/// but at least this much of each,
const LEAST: Duration = Duration::from_millis(5);
/// and save up no more than this.
const SAVED_MAX: Duration = Duration::from_millis(100);

/// What dear forms may still take, and what they took too much.
#[derive(Debug, Default)]
pub(super) struct MaskTime {
    saved: Duration,
    owed: Duration,
}

#[derive(Debug)]
pub(super) struct Admission {
    cheap: Duration,
    left: Duration,
    is_open: bool,
}

impl MaskTime {
    /// The admission to one step. `cheapest` is what the cheapest form needs for a token, nothing if a sequence has none.
    pub(super) fn admission(&self, cheapest: Duration) -> Admission {
        let cheap = CHEAP.max(cheapest.saturating_mul(TIMES_CHEAPEST));
        Admission { cheap, left: self.saved, is_open: self.owed.is_zero() }
    }

    /// Notes that a step took `time` without the forms, and what each form took.
    pub(super) fn step(&mut self, time: Duration, forms: impl Iterator<Item = Duration>) {
        let spent: Duration = forms.filter(|&form| form > CHEAP).sum();
        let available = self.saved + (time / PART).max(LEAST);
        let owed = self.owed + spent;
        self.saved = available.saturating_sub(owed).min(SAVED_MAX);
        self.owed = owed.saturating_sub(available);
    }
}

impl Admission {
    /// Whether a form that needs `expected` for its next token takes part.
    pub(super) fn admits(&mut self, expected: Duration) -> bool {
        if expected <= self.cheap {
            return true;
        }
        let admitted = self.is_open;
        self.left = self.left.saturating_sub(expected);
        self.is_open &= !self.left.is_zero();
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CHEAP, MaskTime, SAVED_MAX, TIMES_CHEAPEST};

    const STEP: Duration = Duration::from_millis(40);
    const DEAR: Duration = Duration::from_millis(98);

    /// How often `forms` dear forms take part in `steps` steps beside a sequence without one.
    fn admitted(steps: usize, forms: usize) -> usize {
        let mut masks = MaskTime::default();
        let step = |_| {
            let mut admission = masks.admission(Duration::ZERO);
            let admitted = (0..forms).filter(|_| admission.admits(DEAR)).count();
            masks.step(STEP, (0..admitted).map(|_| DEAR));
            admitted
        };
        (0..steps).map(step).sum()
    }

    #[test]
    fn dear_forms_take_a_quarter_of_the_time_of_steps_however_many_they_are() {
        // 98 ms of ten steps, which last 400 ms without them.
        assert_eq!(admitted(1_000, 1), 102);
        assert_eq!(admitted(1_000, 31), 102);
    }

    #[test]
    fn cheap_forms_take_part_whatever_is_owed() {
        let mut masks = MaskTime::default();
        masks.step(STEP, [Duration::from_secs(60), CHEAP].into_iter());
        let mut admission = masks.admission(Duration::ZERO);
        assert!(!admission.admits(CHEAP + Duration::from_nanos(1)));
        assert!(admission.admits(CHEAP));
    }

    #[test]
    fn forms_that_are_all_dear_do_not_wait_for_each_other() {
        let mut masks = MaskTime::default();
        masks.step(STEP, [Duration::from_secs(60)].into_iter());
        let mut admission = masks.admission(DEAR / TIMES_CHEAPEST);
        assert!(admission.admits(DEAR));
        assert!(!admission.admits(DEAR * 2));
    }

    #[test]
    fn little_is_saved_up() {
        let mut masks = MaskTime::default();
        (0..1_000).for_each(|_| masks.step(Duration::from_secs(1), std::iter::empty()));
        assert_eq!((masks.saved, masks.owed), (SAVED_MAX, Duration::ZERO));
        let mut admission = masks.admission(Duration::ZERO);
        assert!(admission.admits(DEAR));
        assert!(admission.admits(DEAR));
        assert!(!admission.admits(DEAR));
    }
}
