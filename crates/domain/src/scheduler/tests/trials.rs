//! Suspects, tried in groups, to find which of many requests kills its engine.

use super::super::*;
use super::desk::Desk;
use super::store::End;
use super::world::{Luck, World};
use super::{candidate, partition};

const MINUTE: i64 = 60_000;

/// Suspects that broke a connection before enter an account's queue: no node runs them amid ordinary work.
fn enqueue_apart(desk: &mut Desk, account: i64, seqs: std::ops::RangeInclusive<i64>) {
    let seen = seqs.map(|seq| Candidate { attempts: 1, suspect: true, ..candidate(seq) });
    desk.arrive(partition(account), seen);
}

/// Everything in flight breaks, and the engine is back immediately.
fn die(desk: &mut Desk) {
    desk.flying().into_iter().for_each(|seq| desk.reset(seq));
    desk.probed_healthy();
}

/// An engine dies whenever a guilty request runs, until everything has ended. Returns its deaths, and how many of them struck requests that
/// were no suspects.
fn run_with_guilty(desk: &mut Desk, guilty: &[i64]) -> (usize, usize) {
    let (mut deaths, mut struck) = (0, 0);
    for _ in 0..100_000 {
        let flying = desk.flying();
        if flying.iter().any(|seq| guilty.contains(seq)) {
            deaths += 1;
            let is_suspect = |seq: &i64| desk.store.row(*seq).is_some_and(|row| row.seen.suspect);
            struck += usize::from(!flying.iter().all(is_suspect));
            die(desk);
        } else if let Some(seq) = flying.first() {
            desk.complete(*seq);
        }
        desk.probed_healthy();
        desk.wait(100);
        if desk.store.rows.is_empty() {
            break;
        }
    }
    (deaths, struck)
}

#[test]
fn suspects_that_an_engine_dies_with_again_run_by_themselves_in_halves() {
    let mut desk = Desk::of(&[8], 1..=8);
    die(&mut desk);
    desk.wait(700);
    assert_eq!(desk.flying().len(), 8, "the first death changes nothing but the marks");
    die(&mut desk);
    desk.enqueue(2, 101..=200);
    let mut seen = Vec::new();
    for _ in 0..200 {
        let flying = desk.flying();
        let suspects = flying.iter().filter(|seq| **seq <= 8).count();
        assert!(
            suspects == 0 || suspects == flying.len(),
            "suspects have the replica to themselves: {flying:?}"
        );
        if suspects > 0 {
            seen.push(suspects);
        }
        flying.into_iter().for_each(|seq| desk.complete(seq));
        desk.wait(100);
    }
    assert_eq!(seen, [4, 2, 1, 1]);
    assert_eq!(desk.store.ends.len(), 108);
}

#[test]
fn suspects_that_wait_when_others_kill_an_engine_again_run_by_themselves_too() {
    let mut desk = Desk::of(&[4, 4], 1..=8);
    assert_eq!(desk.flying().len(), 8);
    die(&mut desk);
    // Only the first engine comes back, with room for half of them.
    let outcome = ProbeOutcome::Failed("no".into());
    desk.feed(SchedulerInput::Probed { replica: ReplicaKey(2), outcome });
    desk.wait(700);
    assert_eq!(desk.flying().len(), 4);
    die(&mut desk);
    desk.enqueue(2, 101..=200);
    let mut order = Vec::new();
    for _ in 0..200 {
        let flying = desk.flying();
        let suspects = flying.iter().filter(|seq| **seq <= 8).count();
        assert!(
            suspects == 0 || suspects == flying.len(),
            "suspects have the replica to themselves: {flying:?}"
        );
        flying.iter().for_each(|seq| desk.complete(*seq));
        order.extend(flying);
        desk.wait(100);
    }
    assert_eq!(order.len(), 108, "{order:?}");
}

#[test]
fn one_guilty_request_of_many_is_found_after_a_logarithm_of_deaths() {
    for guilty in [1, 7, 33, 64] {
        let mut desk = Desk::of(&[64], 1..=200);
        let (deaths, struck) = run_with_guilty(&mut desk, &[guilty]);
        // Twice amid others, with groups of 32, 16, 8, 4 and 2 at most, and eight times alone.
        assert!(
            (10..=15).contains(&deaths) && struck <= 2,
            "{guilty}: {deaths} deaths, {struck} amid others"
        );
        assert_eq!(desk.store.ends.remove(&guilty), Some(End::Failed("engine_unavailable")));
        assert_eq!(desk.store.ends.len(), 199, "{guilty}");
        assert!(desk.store.ends.values().all(|end| *end == End::Completed), "{guilty}");
    }
}

#[test]
fn an_account_of_guilty_requests_is_soon_back_at_one_at_a_time() {
    let mut desk = Desk::of(&[16], 1..=16);
    let guilty: Vec<i64> = (1..=16).collect();
    let (deaths, _) = run_with_guilty(&mut desk, &guilty);
    // Twice all of them, groups of 8, 4 and 2, and each eight times alone.
    assert!((128..=133).contains(&deaths), "{deaths}");
    assert!(desk.store.ends.values().all(|end| *end == End::Failed("engine_unavailable")));
}

#[test]
fn another_accounts_suspects_are_cleared_in_a_group_of_their_own() {
    let mut desk = Desk::of(&[8], 1..=4);
    desk.enqueue(2, 11..=14);
    assert_eq!(desk.flying().len(), 8);
    die(&mut desk);
    desk.wait(700);
    die(&mut desk);
    desk.wait(700);
    let is_of_first = |desk: &Desk| desk.flying().iter().all(|seq| *seq <= 4);
    for _ in 0..2 {
        while is_of_first(&desk) {
            if !desk.flying().is_empty() {
                die(&mut desk);
            }
            desk.wait(100);
        }
        let group = desk.flying();
        assert!(group.iter().all(|seq| *seq > 4), "a group is of one account: {group:?}");
        group.into_iter().for_each(|seq| desk.complete(seq));
        desk.wait(100);
    }
    let cleared = (11..=14).filter(|seq| desk.store.ends.get(seq) == Some(&End::Completed)).count();
    assert!(cleared >= 3, "{cleared}");
}

#[test]
fn suspects_take_one_replica_while_the_others_go_on() {
    let mut desk = Desk::of(&[2, 2], 3..=20);
    for seq in desk.flying() {
        desk.complete(seq);
    }
    desk.hear();
    enqueue_apart(&mut desk, 2, 101..=102);
    for seq in desk.flying() {
        desk.complete(seq);
    }
    let said = desk.hear();
    let to_first: Vec<_> = said.iter().map(String::as_str).filter(|it| it.ends_with("to 1")).collect();
    assert_eq!(to_first, ["send 101 to 1", "send 102 to 1"], "{said:?}");
    desk.complete(101);
    assert!(desk.hear().iter().all(|it| !it.ends_with("to 1")), "it is for suspects alone");
    desk.complete(102);
    let said = desk.hear();
    assert!(said.iter().any(|it| it.ends_with("to 1")), "ordinary work again: {said:?}");
}

#[test]
fn suspects_leave_most_of_a_replicas_time_to_others_and_accounts_take_turns_with_theirs() {
    let mut desk = Desk::new(&[2]);
    enqueue_apart(&mut desk, 1, 1..=3);
    enqueue_apart(&mut desk, 2, 11..=11);
    assert_eq!(desk.flying(), [1, 2]);
    desk.enqueue(3, 101..=400);
    desk.wait(300);
    assert_eq!(desk.flying(), [1, 2], "suspects have the replica to themselves");
    desk.complete(1);
    desk.complete(2);
    let mut order = Vec::new();
    for _ in 0..200 {
        for seq in desk.flying() {
            desk.complete(seq);
            order.push(seq);
        }
        desk.wait(100);
    }
    let place = |seq| order.iter().position(|it| *it == seq).expect("it ran");
    assert!(place(11) >= 20, "1,200 ms for others, two each 100 ms: {}", place(11));
    assert!(place(11) < place(3), "{order:?}");
}

#[test]
fn others_have_four_times_as_long_as_a_trial_kept_a_replica_from_them_until_it_was_back() {
    let mut desk = Desk::new(&[2]);
    enqueue_apart(&mut desk, 1, 1..=2);
    desk.enqueue(2, 101..=400);
    for seq in desk.flying() {
        desk.reset(seq);
    }
    desk.probed_failed();
    let begun_at = desk.now;
    desk.wait(3_000);
    desk.probed_healthy();
    let back_at = desk.now;
    while !desk.flying().iter().any(|seq| *seq <= 2) {
        desk.flying().into_iter().for_each(|seq| desk.complete(seq));
        desk.wait(100);
        assert!(desk.now < back_at + 20_000, "their turn comes");
    }
    assert!(desk.now - back_at >= 4 * (back_at - begun_at), "{} ms", desk.now - back_at);
}

#[test]
fn guilty_requests_of_several_accounts_fail_and_no_other_is_charged() {
    for seed in 0_u32..20 {
        let limits: &[u32] = [&[64][..], &[16], &[16, 8], &[4]][usize::try_from(seed % 4).unwrap()];
        let mut world = World::new(seed.into(), limits, Luck::default());
        world.poison.extend((0..100).filter(|seq| seq % 9 == i64::from(seed) % 9));
        world.poison.extend([205, 333]);
        for account in 0..4 {
            world.enqueue(account, account * 100..account * 100 + 100, 100);
        }
        assert!(world.run(24 * 60 * MINUTE), "seed {seed}");
        for (seq, end) in &world.store.ends {
            let is_guilty = world.poison.contains(seq);
            let expected = if is_guilty { End::Failed("engine_unavailable") } else { End::Completed };
            assert_eq!(*end, expected, "seed {seed}, request {seq}");
        }
        assert!(world.charged.is_subset(&world.poison), "seed {seed}: {:?}", world.charged);
        let (deaths, guilty) = (world.deaths, world.poison.len());
        assert!(deaths <= 12 * guilty, "seed {seed}: {deaths} deaths of {guilty}");
    }
}

#[test]
fn everything_ends_where_requests_kill_engines_and_answers_are_lost() {
    for seed in 0_u32..30 {
        let luck = Luck { error: 50, undone: 30, lost: 30, cancel: 50 };
        let limits: &[u32] = [&[16][..], &[1], &[8, 4, 2]][usize::try_from(seed % 3).unwrap()];
        let mut world = World::new(seed.into(), limits, luck);
        world.poison.extend((0..160).filter(|seq| seq % 17 == i64::from(seed) % 17));
        for account in 0..3 {
            world.enqueue(account, account * 60..account * 60 + 60, 100);
        }
        for turn in 0..10 {
            let keys: Vec<u32> = (1..).take(limits.len()).skip(usize::from(turn % 3 == 1)).collect();
            world.keep_replicas(turn * 2_000, &keys);
        }
        assert!(world.run(24 * 60 * MINUTE), "seed {seed}: {:?}", world.scheduler);
        assert_eq!(world.store.ends.len(), 180, "seed {seed}");
        world.assert_nothing_left(60 * MINUTE, seed);
        assert!(
            !world.scheduler.replicas.values().any(|it| it.is_trying()),
            "seed {seed}: a trial without end"
        );
    }
}
