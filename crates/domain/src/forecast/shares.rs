//! Work done in addition to an account's own requests. Deficit round robin gives each account the same cost; but an account that holds as
//! many requests as one may gets what its slots do, if that is less (see `scheduler::fairness`).

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Work {
    /// As it will be used.
    pub(super) cost: f64,
    /// Slot time per unit of it, in milliseconds.
    pub(super) slot_ms: f64,
    /// The part of the slots that it takes, if it holds as many requests as it may.
    pub(super) most_part: Option<f64>,
}

impl Work {
    pub(super) const fn ms(self) -> f64 {
        self.cost * self.slot_ms
    }
}

/// Slot time until an account's `own` work is done, in milliseconds, while each other account gets its share, or all that it has; at least
/// `least_slot_ms` per unit of cost.
pub(super) fn with_accounts(own: Work, others: &[Work], least_slot_ms: f64) -> f64 {
    let beside = beside(own, others);
    let costs = others.iter().zip(&beside).filter(|(_, ms)| **ms > 0.0).map(|(it, ms)| ms / it.slot_ms);
    let cost = own.cost + costs.sum::<f64>();
    (own.ms() + beside.iter().sum::<f64>()).max(cost * least_slot_ms)
}

/// Slot time of each other account meanwhile, in milliseconds.
fn beside(own: Work, others: &[Work]) -> Vec<f64> {
    let same_cost = |it: &Work| it.ms().min(own.cost * it.slot_ms);
    let mut beside: Vec<f64> = others.iter().map(same_cost).collect();
    if let Some(part) = own.most_part {
        let all: f64 = others.iter().map(|it| it.ms()).sum();
        let left = (own.ms() * (1.0 - part) / part).min(all);
        let times = left / beside.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        if times > 1.0 {
            beside.iter_mut().zip(others).for_each(|(ms, it)| *ms = it.ms().min(*ms * times));
        }
        return beside;
    }
    let free = others.iter().zip(&beside).filter(|(it, _)| it.most_part.is_none());
    let free_ms = own.ms() + free.map(|(_, ms)| ms).sum::<f64>();
    for (ms, it) in beside.iter_mut().zip(others) {
        *ms = it.most_part.map_or(*ms, |part| ms.min(free_ms * part / (1.0 - part)));
    }
    beside
}

/// Slot time until this work of a model is done, in milliseconds, while each other model of the same engines takes slots for as long, or
/// for as long as it has work.
pub(super) fn with_models(own_ms: f64, others_ms: &[f64]) -> f64 {
    own_ms + others_ms.iter().map(|other| other.min(own_ms)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_accounts(own: Work, others: &[Work]) -> f64 {
        super::with_accounts(own, others, 0.0)
    }

    const fn work(cost: f64, slot_ms: f64, most_part: Option<f64>) -> Work {
        Work { cost, slot_ms, most_part }
    }

    #[test]
    fn each_other_account_gets_the_same_cost_or_all_that_it_needs() {
        let own = work(10.0, 2.0, None);
        assert_eq!(with_accounts(own, &[]), 20.0);
        assert_eq!(with_accounts(own, &[work(100.0, 3.0, None)]), 20.0 + 30.0);
        assert_eq!(with_accounts(own, &[work(100.0, 3.0, None), work(5.0, 4.0, None)]), 20.0 + 30.0 + 20.0);
    }

    #[test]
    fn who_holds_as_much_as_it_may_gets_what_its_slots_do() {
        let own = work(10.0, 2.0, None);
        for (part, expected) in [(0.9, 100.0), (0.75, 60.0), (0.5, 20.0), (1.0, 100.0)] {
            assert_eq!(with_accounts(own, &[work(90.0, 10.0, Some(part))]), 20.0 + expected, "{part}");
        }
        let both = [work(90.0, 10.0, Some(0.5)), work(5.0, 4.0, None)];
        assert_eq!(with_accounts(own, &both), 2.0 * (20.0 + 20.0));
    }

    #[test]
    fn beside_one_that_holds_as_much_as_it_may_others_get_what_is_left() {
        let own = work(10.0, 30.0, Some(0.75));
        for (cost, expected) in [(1_000.0, 100.0), (30.0, 60.0)] {
            assert_eq!(with_accounts(own, &[work(cost, 2.0, None)]), 300.0 + expected, "{cost}");
        }
        assert_eq!(with_accounts(own, &[work(1_000.0, 20.0, None)]), 300.0 + 200.0, "the same cost is more");
    }

    #[test]
    fn each_other_model_takes_slots_for_as_long() {
        assert_eq!(with_models(10.0, &[3.0, 10.0, 90.0]), 33.0);
    }
}
