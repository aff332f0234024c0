//! Forms read the last tokens of their answers, and find the tokens that are allowed next. Every sequence waits meanwhile, and a hostile form
//! takes up to 200 ms for one token. So an account owes the time that an expensive form took: until steps have paid for it, its forms sit out
//! and begin no answer while another account has work, and they leave their sequences to requests that wait.

use std::{cmp::Reverse, collections::BTreeMap, sync::Arc, time::Duration};

use super::{Running, Scheduler, queue::Request};
use crate::{clock::Stopwatch, constraint::Unkept, model::Decoder};

/// A form is free that takes at most this long for a token,
const CHEAP: Duration = Duration::from_millis(1);
/// or at most this many times as long as the cheapest form of another account. Equally expensive forms do not wait for each other.
const TIMES_CHEAPEST: u32 = 8;
/// Steps pay this part of their time for what accounts owe.
const PART: u32 = 8;
/// The largest debt of an account that is alone, which continues although it owes.
const OWED_MAX: Duration = Duration::from_millis(400);
/// No further form has its turn before a step when the earlier ones took this long.
const TURNS_MAX: Duration = Duration::from_millis(100);

/// The form of a request may take this long in all,
const BUDGET: Duration = Duration::from_secs(3);
/// or this many times as long as the steps of its answers.
const TIMES_STEPS: u32 = 2;

/// Whether a request whose form took `forms`, and whose answers took part in steps of `steps`, is over its budget.
pub(super) fn is_over_budget(forms: Duration, steps: Duration) -> bool {
    forms > BUDGET && forms > steps.saturating_mul(TIMES_STEPS)
}

/// The time that each account owes, if any.
#[derive(Debug, Default)]
pub(super) struct Debts(BTreeMap<Arc<str>, Duration>);

impl Debts {
    fn of(&self, account: &Arc<str>) -> Duration {
        self.0.get(account).copied().unwrap_or_default()
    }

    /// Whether `other` owes less than `account`.
    fn owes_less(&self, other: &Arc<str>, account: &Arc<str>) -> bool {
        let owed = self.of(account);
        !owed.is_zero() && self.of(other) < owed
    }

    /// Charges an account for a form that took `time`, while the cheapest form of another account took `cheapest`; `None` if it is alone.
    pub(super) fn charge(&mut self, account: &Arc<str>, time: Duration, cheapest: Option<Duration>) {
        if time > CHEAP.max(cheapest.unwrap_or_default().saturating_mul(TIMES_CHEAPEST)) {
            let owed = self.0.entry(Arc::clone(account)).or_default();
            let owed_max = if cheapest.is_none() { OWED_MAX.max(*owed) } else { Duration::MAX };
            *owed = (*owed + time).min(owed_max);
        }
    }

    /// A step of `time` pays, to each account that owes the same.
    pub(super) fn pay(&mut self, time: Duration) {
        let paid = time / PART / u32::try_from(self.0.len()).unwrap_or(u32::MAX).max(1);
        self.0.retain(|_, owed| {
            *owed = owed.saturating_sub(paid);
            !owed.is_zero()
        });
    }
}

impl<D: Decoder> Scheduler<D> {
    /// Finds the next allowed tokens of each answer with a form, unless its account must wait. The sequences that waited longest are first.
    pub(super) fn find_masks(&mut self) {
        let lacking = self.running.iter().filter(|running| running.begun.answer.lacks_mask());
        let mut lacking: Vec<_> =
            lacking.map(|running| (Reverse(running.sat_out), running.sequence)).collect();
        lacking.sort_unstable();
        let stopwatch = Stopwatch::start();
        for (_, sequence) in lacking {
            // A request that fails takes all its sequences with it.
            let Some(place) = self.place_of(sequence) else { continue };
            if self.keeps_others_waiting(&self.running[place].account) {
                self.park(place);
                continue;
            }
            if stopwatch.elapsed() > TURNS_MAX || self.sits_out(&self.running[place].account) {
                self.running[place].sat_out += 1;
                continue;
            }
            let running = &mut self.running[place];
            let found = running.begun.answer.find_mask();
            let time = running.begun.answer.take_form_time();
            (running.sat_out, running.form_time) = (0, Some(time));
            match (found, self.charge_form(place, time)) {
                (Ok(Some(finish)), _) => self.end(sequence, finish),
                (Ok(None), Ok(())) => {}
                (Err(unkept), _) | (_, Err(unkept)) => self.fail_form(sequence, unkept),
            }
        }
    }

    /// Whether a waiting request must not begin because of its form: its account sits out, or continues another parked answer.
    pub(super) fn must_wait_for_form(&self, request: &Request) -> bool {
        let account = &request.job.account;
        let is_lacking = |running: &Running| running.account == *account && running.begun.answer.lacks_mask();
        request.job.grammar.is_some()
            && (self.sits_out(account) || request.is_parked() && self.running.iter().any(is_lacking))
    }

    /// Whether the account must wait with its forms: it owes more than another one with work.
    fn sits_out(&self, account: &Arc<str>) -> bool {
        let mut running = self.running.iter().map(|running| &running.account);
        running.any(|other| self.debts.owes_less(other, account)) || self.keeps_others_waiting(account)
    }

    /// Whether the account owes more than another account with waiting requests.
    fn keeps_others_waiting(&self, account: &Arc<str>) -> bool {
        self.requests.waiting_accounts().any(|other| self.debts.owes_less(other, account))
    }

    /// Takes its sequence from a running answer, which continues later.
    fn park(&mut self, place: usize) {
        let Running { request, sequence, mut begun, drawn, .. } = self.running.remove(place);
        if let Some(drawn) = drawn {
            begun.tokens = self.cache.tokens(sequence).iter().copied().chain([drawn]).collect();
        }
        self.cache.finish(sequence);
        self.requests.park(request, begun);
    }

    /// Charges the account and the request of a running sequence for the time of its form. Fails if the request is over its budget.
    fn charge_form(&mut self, place: usize, time: Duration) -> Result<(), Unkept> {
        let running = &self.running[place];
        let others = self.running.iter().filter(|other| other.account != running.account);
        let others_wait = self.requests.waiting_accounts().any(|other| *other != running.account);
        let cheapest = others.filter_map(|other| other.form_time).min();
        let cheapest = cheapest.or(others_wait.then_some(Duration::ZERO));
        self.debts.charge(&running.account, time, cheapest);
        let (forms, steps) = self.requests.add_form(running.request, time);
        if is_over_budget(forms, steps) { running.begun.answer.refuse_form(forms) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::{BUDGET, CHEAP, Debts, OWED_MAX, PART, TIMES_CHEAPEST, is_over_budget};

    const STEP: Duration = Duration::from_millis(40);
    const EXPENSIVE: Duration = Duration::from_millis(100);

    fn accounts() -> [Arc<str>; 2] {
        ["one", "other"].map(Arc::from)
    }

    #[test]
    fn steps_pay_all_accounts_together_a_part_of_their_time() {
        let (mut debts, [one, other]) = (Debts::default(), accounts());
        debts.charge(&one, EXPENSIVE, Some(Duration::ZERO));
        debts.pay(STEP);
        assert_eq!(debts.of(&one), EXPENSIVE - STEP / PART);
        debts.charge(&other, EXPENSIVE, Some(Duration::ZERO));
        debts.pay(STEP);
        assert_eq!(debts.of(&one), EXPENSIVE - STEP / PART - STEP / PART / 2);
        assert_eq!(debts.of(&other), EXPENSIVE - STEP / PART / 2);
        debts.pay(EXPENSIVE * PART * 2);
        assert!(debts.0.is_empty());
    }

    #[test]
    fn a_cheap_form_is_free() {
        let (mut debts, [one, _]) = (Debts::default(), accounts());
        debts.charge(&one, CHEAP, None);
        debts.charge(&one, EXPENSIVE, Some(EXPENSIVE / TIMES_CHEAPEST));
        assert_eq!(debts.of(&one), Duration::ZERO);
        debts.charge(&one, CHEAP + Duration::from_nanos(1), None);
        assert_eq!(debts.of(&one), CHEAP + Duration::from_nanos(1));
    }

    #[test]
    fn the_debt_of_an_account_that_is_alone_has_a_limit() {
        let (mut debts, [one, other]) = (Debts::default(), accounts());
        (0..100).for_each(|_| debts.charge(&one, EXPENSIVE, None));
        assert_eq!(debts.of(&one), OWED_MAX);
        (0..100).for_each(|_| debts.charge(&other, EXPENSIVE, Some(Duration::ZERO)));
        debts.charge(&other, EXPENSIVE, None);
        assert_eq!(debts.of(&other), EXPENSIVE * 100);
    }

    #[test]
    fn a_form_has_a_budget_that_grows_with_the_steps_of_its_answers() {
        assert!(!is_over_budget(BUDGET, Duration::ZERO));
        assert!(is_over_budget(BUDGET + EXPENSIVE, Duration::ZERO));
        assert!(is_over_budget(BUDGET + EXPENSIVE, BUDGET / 2));
        assert!(!is_over_budget(BUDGET + EXPENSIVE, BUDGET));
    }
}
