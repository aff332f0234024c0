//! Refusals for lack of room (429, 503), by account: an account whose requests are refused while others complete waits by itself, and slows
//! no other account.
//!
//! The window of an account works as a congestion window does (V. Jacobson: "Congestion avoidance and control", 1988): two refusals in a
//! row set it to what the engines still work on, and completions widen it, faster each time.

use std::collections::BTreeSet;

use super::messages::AccountKey;
use super::random::Random;
use super::retries::Backoff;

/// Wait of an account after its second refusal in a row, if the engine names no time.
const REST: Backoff = Backoff { base_ms: 250, cap_ms: 5_000 };
/// Maximum time that a named time holds an account back. The refused request itself waits longer.
pub(super) const NAMED_MAX_MS: i64 = 60_000;

const REQUESTS_MAX: usize = 64;

/// What the engines of a model refused to one account lately.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Distinct requests refused since a request of the account completed.
    in_a_row: u32,
    last_seq: Option<i64>,
    /// Requests of the account that the engines still worked on at the last refusal.
    held: usize,
    /// The account waits until then, after two refusals in a row.
    until: i64,
    /// Requests that the account may hold; `None` if refusals do not limit it.
    window: Option<usize>,
    /// Completions since the window last changed.
    completed: usize,
    growth: usize,
}

impl Refusals {
    /// A request was refused while the account held `held` others; the engine named `named_ms`. Returns whether the window became smaller.
    pub(super) fn note_refusal(
        &mut self,
        seq: i64,
        held: usize,
        named_ms: i64,
        random: &mut Random,
        now: i64,
    ) -> bool {
        if self.last_seq.replace(seq) != Some(seq) || self.in_a_row == 0 {
            self.in_a_row = self.in_a_row.saturating_add(1);
        }
        self.held = held;
        if self.in_a_row < 2 {
            return false;
        }
        let rest_ms = REST.equal_jitter_ms(self.in_a_row - 2, random).max(named_ms.min(NAMED_MAX_MS));
        self.until = self.until.max(now.saturating_add(rest_ms));
        let before = self.window.replace(held.max(1));
        (self.completed, self.growth) = (0, 1);
        before.is_none_or(|before| held.max(1) < before)
    }

    /// A request of the account completed. The window ends once it is wider than `capacity`.
    pub(super) fn note_completion(&mut self, capacity: usize) {
        (self.in_a_row, self.last_seq, self.until) = (0, None, 0);
        let Some(window) = self.window else { return };
        self.completed += 1;
        if self.completed >= window {
            let wider = window.saturating_add(self.growth);
            self.completed = 0;
            self.growth = self.growth.saturating_mul(2);
            self.window = Some(wider).filter(|wider| *wider <= capacity);
        }
    }

    /// Requests that the account may hold now. After a refusal without a completion, one at a time in addition to those that engines still
    /// work on.
    pub(super) fn most_held(&self, now: i64) -> usize {
        match self.in_a_row {
            0 => self.window.unwrap_or(usize::MAX),
            _ if self.until(now).is_some() => 0,
            _ => self.held.saturating_add(1),
        }
    }

    /// Until when the account waits, if that is later than `now`.
    pub(super) fn until(&self, now: i64) -> Option<i64> {
        (self.in_a_row > 1 && self.until > now).then_some(self.until)
    }
}

/// Requests that a replica had no room for since one completed there.
#[derive(Debug, Default)]
pub(super) struct RefusedRequests {
    requests: BTreeSet<(AccountKey, i64)>,
    message: String,
}

/// Whether the replica refused several requests, and of several accounts, since one completed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Several {
    pub(super) requests: bool,
    pub(super) accounts: bool,
}

impl RefusedRequests {
    pub(super) fn note(&mut self, account: AccountKey, seq: i64, message: String) -> Several {
        self.message = message;
        if self.requests.len() < REQUESTS_MAX {
            self.requests.insert((account, seq));
        }
        let [first, last] = [self.requests.first(), self.requests.last()].map(|it| it.map(|it| it.0));
        Several { requests: self.requests.len() > 1, accounts: first != last }
    }

    pub(super) fn has(&self, account: AccountKey) -> bool {
        self.requests.range((account, i64::MIN)..=(account, i64::MAX)).next().is_some()
    }

    /// The engine's message to the last of them.
    pub(super) fn message(&self) -> &str {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refusal_holds_nothing_back_and_two_in_a_row_do() {
        let (mut refusals, mut random) = (Refusals::default(), Random::new(1));
        assert_eq!(refusals.most_held(0), usize::MAX);
        assert!(!refusals.note_refusal(1, 5, 3_000, &mut random, 0));
        assert_eq!((refusals.most_held(0), refusals.until(0)), (6, None), "one at a time");
        assert!(!refusals.note_refusal(1, 5, 3_000, &mut random, 0), "the same request again");
        assert_eq!(refusals.most_held(0), 6);
        assert!(refusals.note_refusal(2, 4, 3_000, &mut random, 0));
        assert_eq!((refusals.most_held(2_999), refusals.until(0)), (0, Some(3_000)));
        assert_eq!((refusals.most_held(3_000), refusals.until(3_000)), (5, None));
        for (seq, held, is_narrower) in
            [(3, 5, false), (4, 4, true), (5, 4, false), (6, 0, true), (7, 1, false)]
        {
            assert_eq!(refusals.note_refusal(seq, held, 0, &mut random, 3_000), is_narrower, "{seq}");
        }
        refusals.note_completion(16);
        assert_eq!(refusals.most_held(0), 2);
    }

    #[test]
    fn completions_widen_the_window_until_it_ends() {
        let (mut refusals, mut random) = (Refusals::default(), Random::new(1));
        refusals.note_refusal(1, 2, 0, &mut random, 0);
        refusals.note_refusal(2, 2, 0, &mut random, 0);
        let mut windows = vec![];
        while refusals.window.is_some() {
            refusals.note_completion(16);
            windows.push(refusals.most_held(0));
        }
        windows.dedup();
        assert_eq!(windows, [2, 3, 5, 9, usize::MAX]);
    }

    #[test]
    fn a_time_that_an_engine_names_holds_an_account_back_for_a_minute_at_most() {
        let (mut refusals, mut random) = (Refusals::default(), Random::new(1));
        refusals.note_refusal(1, 0, 3_600_000, &mut random, 0);
        refusals.note_refusal(2, 0, 3_600_000, &mut random, 0);
        assert_eq!(refusals.until(0), Some(NAMED_MAX_MS));
    }
}
