//! An account whose requests keep their slots until they time out, among others.

use std::collections::BTreeMap;

use super::super::{AccountKey, AttemptError, SchedulerInput};
use super::MODEL;
use super::desk::Desk;

const HONEST: i64 = 1;
const HANGING: i64 = 2;
const LIGHT: i64 = 3;
const HANGING_TOO: [i64; 2] = [4, 5];
const SECOND_MS: i64 = 1_000;
const TIMEOUT_MS: i64 = 60_000;
/// Distance between the request numbers of accounts.
const NUMBERS: i64 = 10_000_000;

struct Beside {
    desk: Desk,
    sent_at: BTreeMap<i64, i64>,
}

impl Beside {
    /// With these slots, and waiting requests of the hanging account.
    fn new(slots: u32, hanging: i64) -> Self {
        let mut beside = Self { desk: Desk::new(&[slots]), sent_at: BTreeMap::new() };
        beside.enqueue(HONEST, 0, 16);
        beside.run(20 * SECOND_MS);
        beside.enqueue(HANGING, 0, hanging);
        beside
    }

    fn enqueue(&mut self, account: i64, from: i64, count: i64) {
        let from = account * NUMBERS + from;
        self.desk.enqueue(account, from..from + count);
    }

    /// Time passes, with answers after a second or the timeout; returns the slot time of each account.
    fn run(&mut self, ms: i64) -> [i64; 6] {
        let mut had = [0; 6];
        for _ in 0..ms / 100 {
            self.desk.wait(100);
            if self.desk.hear().iter().any(|it| it == "probe 1") {
                self.desk.probed_healthy();
            }
            let now = self.desk.now;
            for seq in self.desk.flying() {
                let account = seq / NUMBERS;
                let sent_at = *self.sent_at.entry(seq).or_insert(now - 100);
                had[usize::try_from(account).unwrap()] += 100;
                let is_hanging = account == HANGING || HANGING_TOO.contains(&account);
                if now - sent_at >= if is_hanging { TIMEOUT_MS } else { SECOND_MS } {
                    self.sent_at.remove(&seq);
                    match is_hanging {
                        true => time_out(&mut self.desk, seq),
                        false => self.desk.complete(seq),
                    }
                }
            }
        }
        had
    }
}

fn time_out(desk: &mut Desk, seq: i64) {
    desk.fail(seq, AttemptError::TimedOut("no answer".into()));
}

/// Both accounts had as much, except for what was in flight at the end.
fn assert_even(had: [i64; 6]) {
    let honest = had[1] as f64 / (had[1] + had[2]) as f64;
    assert!((0.49..0.52).contains(&honest), "{honest}: {had:?}");
}

#[test]
fn an_account_of_hanging_requests_has_no_more_time_of_slots_than_an_honest_one() {
    for slots in [1, 8, 32] {
        let mut beside = Beside::new(slots, 4_000);
        let all = i64::from(slots) * 50 * TIMEOUT_MS;
        beside.enqueue(HONEST, 16, all / SECOND_MS);
        let had = beside.run(50 * TIMEOUT_MS);
        assert_even(had);
        assert!(had[1] + had[2] > all * 95 / 100, "{had:?} of {all}");
    }
}

#[test]
fn an_honest_account_has_its_part_beside_several_that_hang_since_the_start() {
    let mut beside = Beside { desk: Desk::new(&[8]), sent_at: BTreeMap::new() };
    for account in [HONEST, HANGING].into_iter().chain(HANGING_TOO) {
        beside.enqueue(account, 0, 8 * 12 * TIMEOUT_MS / SECOND_MS);
    }
    beside.run(4 * TIMEOUT_MS);
    let had = beside.run(8 * TIMEOUT_MS);
    let honest = had[1] as f64 / had.iter().sum::<i64>() as f64;
    assert!(honest > 0.24, "{honest}: {had:?}");
}

#[test]
fn a_third_account_with_few_requests_makes_nobody_forget_what_the_hanging_one_owes() {
    let mut beside = Beside::new(8, 4_000);
    beside.enqueue(HONEST, 16, 8 * 50 * TIMEOUT_MS / SECOND_MS);
    let mut had = [0; 6];
    for turn in 0..50 * TIMEOUT_MS / SECOND_MS / 2 {
        beside.enqueue(LIGHT, turn, 1);
        for (sum, ms) in had.iter_mut().zip(beside.run(2 * SECOND_MS)) {
            *sum += ms;
        }
    }
    assert_even(had);
}

#[test]
fn an_account_of_hanging_requests_has_every_slot_that_nobody_else_wants() {
    let mut beside = Beside::new(8, 4_000);
    beside.enqueue(HONEST, 16, 1_000);
    beside.run(5 * TIMEOUT_MS);
    let had = beside.run(10 * TIMEOUT_MS);
    assert_eq!(had[1], 0, "the other has had its answers");
    assert!(had[2] > 8 * 10 * TIMEOUT_MS * 95 / 100, "{had:?}");
}

#[test]
fn no_slot_is_idle_while_an_account_that_owes_has_requests() {
    let mut beside = Beside::new(8, 4_000);
    beside.run(TIMEOUT_MS - SECOND_MS);
    beside.enqueue(HONEST, 16, 4_000);
    beside.run(5 * SECOND_MS);
    let had = beside.run(2 * TIMEOUT_MS);
    assert_eq!(had[1] + had[2], 8 * 2 * TIMEOUT_MS, "{had:?}");
}

#[test]
fn a_slot_kept_without_an_answer_is_owed_for_if_the_engine_worked_meanwhile() {
    type Ending = fn(&mut Desk, i64);
    let endings: [(&str, Ending, bool); 6] = [
        (
            "timed out, and the engine works",
            |desk, seq| {
                time_out(desk, seq);
                desk.probed_healthy();
            },
            true,
        ),
        (
            "timed out, and the engine does not work",
            |desk, seq| {
                time_out(desk, seq);
                desk.probed_failed();
            },
            false,
        ),
        ("refused", |desk, seq| desk.status(seq, 503), true),
        ("completed", |desk, seq| desk.complete(seq), false),
        ("cancelled", |desk, seq| desk.feed(SchedulerInput::Ended { seqs: vec![seq] }), false),
        (
            "cancelled, and another was completed",
            |desk, seq| {
                desk.complete(seq + 1);
                desk.feed(SchedulerInput::Ended { seqs: vec![seq] });
            },
            true,
        ),
    ];
    for (name, ending, owes) in endings {
        let mut beside = Beside::new(2, 2);
        beside.enqueue(HONEST, 16, 100);
        beside.desk.wait(TIMEOUT_MS);
        ending(&mut beside.desk, HANGING * NUMBERS);
        let owed = beside.desk.scheduler.models[&MODEL].partitions[&AccountKey(HANGING)].owed_time;
        assert_eq!(owed > 0, owes, "{name}");
    }
}
