//! What is worked on beside an account's own requests. Who has requests under way now is taken to keep its share of the slots until it
//! has nothing left; who has not is taken to get the same cost as the others do, as deficit round robin gives it.

/// What waits of one account, and how many of its requests are under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The cost of what waits, as it will be used.
    pub cost: f64,
    /// For how many milliseconds a unit of it takes a slot.
    pub slot_ms: f64,
    /// Slots that its requests take now.
    pub slots: f64,
}

impl Work {
    /// For how many milliseconds it takes a slot.
    pub const fn ms(self) -> f64 {
        self.cost * self.slot_ms
    }
}

/// For how many milliseconds slots are taken until an account's `own` work is done, where each other gets its share meanwhile, or all
/// that it has.
pub(super) fn with_accounts(own: Work, others: &[Work]) -> f64 {
    let all = || others.iter().chain([&own]).filter(|it| it.slots > 0.0 && it.slot_ms > 0.0);
    let (count, sum) = all().fold((0.0, 0.0), |(count, sum), it| (count + 1.0, sum + it.slots / it.slot_ms));
    // The cost that an account gets in a millisecond.
    let pace = if count > 0.0 { sum / count } else { 1.0 };
    let weight = |it: &Work| if it.slots > 0.0 { it.slots } else { it.slot_ms * pace };
    let beside = |it: &Work| it.ms().min(own.ms() * weight(it) / weight(&own).max(f64::MIN_POSITIVE));
    own.ms() + others.iter().map(beside).sum::<f64>()
}

/// For how many milliseconds slots are taken until so much of a model's work is done, where each other model of the same engines takes
/// them for as long meanwhile, or for as long as it has work.
pub(super) fn with_models(own_ms: f64, others_ms: &[f64]) -> f64 {
    own_ms + others_ms.iter().map(|other| other.min(own_ms)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn work(cost: f64, slot_ms: f64, slots: f64) -> Work {
        Work { cost, slot_ms, slots }
    }

    #[test]
    fn each_other_account_has_its_share_of_the_slots_or_all_that_it_needs() {
        let own = work(10.0, 2.0, 4.0);
        assert_eq!(with_accounts(own, &[]), 20.0);
        assert_eq!(with_accounts(own, &[work(100.0, 1.0, 6.0)]), 20.0 + 30.0);
        assert_eq!(with_accounts(own, &[work(100.0, 1.0, 6.0), work(5.0, 3.0, 8.0)]), 20.0 + 30.0 + 15.0);
    }

    #[test]
    fn who_has_nothing_under_way_will_get_the_same_cost() {
        for slots in [0.0, 4.0] {
            let own = work(10.0, 2.0, slots);
            assert_eq!(with_accounts(own, &[work(100.0, 3.0, 0.0)]), 20.0 + 30.0);
            assert_eq!(with_accounts(own, &[work(4.0, 3.0, 0.0)]), 20.0 + 12.0);
        }
        assert_eq!(with_accounts(work(10.0, 2.0, 0.0), &[work(100.0, 1.0, 6.0)]), 20.0 + 10.0);
    }

    #[test]
    fn each_other_model_takes_slots_for_as_long() {
        assert_eq!(with_models(10.0, &[3.0, 10.0, 90.0]), 33.0);
    }
}
