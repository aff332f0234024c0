//! The time that forms may take of a step. All sequences wait while the allowed tokens of one of them are found, which a hostile form makes
//! take up to half a second. So expensive forms share a part of the time, and sit out steps meanwhile. The form of a request also has a budget
//! for all its answers.

use std::time::Duration;

/// A form that takes at most this long per token takes part in every step.
const CHEAP: Duration = Duration::from_millis(1);
/// So does one that takes at most this many times as long as the cheapest: forms that are all expensive do not wait for each other.
const TIMES_CHEAPEST: u32 = 8;
/// Other forms get this part of the time of steps, however short these are,
const PART: u32 = 4;
/// and accumulate at most this much.
const SAVED_MAX: Duration = Duration::from_millis(100);

/// The form of a request may take this long in all,
const BUDGET: Duration = Duration::from_secs(3);
/// or this many times as long as the steps of its answers.
const TIMES_STEPS: u32 = 2;

/// Whether a request whose form took `forms`, and whose answers took part in steps of `steps`, is over its budget.
pub(super) fn is_over_budget(forms: Duration, steps: Duration) -> bool {
    forms > BUDGET && forms > steps.saturating_mul(TIMES_STEPS)
}

/// The time left for expensive forms; negative after they took too much.
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
    /// `cheapest` is the time of the cheapest form per token, zero if a sequence has no form.
    pub(super) fn admission(&self, cheapest: Duration) -> Admission {
        let cheap = CHEAP.max(cheapest.saturating_mul(TIMES_CHEAPEST));
        Admission { cheap, left: self.saved, is_open: self.owed.is_zero() }
    }

    /// A step took `time` without the forms, and each form its own time.
    pub(super) fn step(&mut self, time: Duration, forms: impl Iterator<Item = Duration>) {
        let spent: Duration = forms.filter(|&form| form > CHEAP).sum();
        let available = self.saved + time / PART;
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

    use super::{BUDGET, CHEAP, MaskTime, SAVED_MAX, TIMES_CHEAPEST, is_over_budget};

    const STEP: Duration = Duration::from_millis(40);
    const DEAR: Duration = Duration::from_millis(98);

    /// How often `forms` expensive forms take part in `steps` steps of `time` beside a sequence without a form.
    fn admitted(steps: usize, time: Duration, forms: usize) -> usize {
        let mut masks = MaskTime::default();
        let step = |_| {
            let mut admission = masks.admission(Duration::ZERO);
            let admitted = (0..forms).filter(|_| admission.admits(DEAR)).count();
            masks.step(time, (0..admitted).map(|_| DEAR));
            admitted
        };
        (0..steps).map(step).sum()
    }

    #[test]
    fn dear_forms_take_a_quarter_of_the_time_of_steps_however_many_they_are() {
        // 98 ms of ten steps, which take 400 ms without them.
        assert_eq!(admitted(1_000, STEP, 1), 102);
        assert_eq!(admitted(1_000, STEP, 31), 102);
        // A small model has short steps.
        assert_eq!(admitted(40_000, STEP / 40, 31), 103);
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
    fn a_form_has_a_budget_that_grows_with_the_steps_of_its_answers() {
        assert!(!is_over_budget(BUDGET, Duration::ZERO));
        assert!(is_over_budget(BUDGET + DEAR, Duration::ZERO));
        assert!(is_over_budget(BUDGET + DEAR, BUDGET / 2));
        assert!(!is_over_budget(BUDGET + DEAR, BUDGET));
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
