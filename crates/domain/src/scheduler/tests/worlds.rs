//! Invariants of every world; a failure names its seed.

use super::super::{DailyLimits, DeviceKey, RateLimits, ReplicaKey};
use super::store::End;
use super::world::{Luck, World};

const MINUTE: i64 = 60_000;

#[test]
fn with_well_engines_everything_completes_soon_and_in_large_runs() {
    for seed in 0..5 {
        let mut world = World::new(seed, &[64, 32], Luck::default());
        world.enqueue(1, 0..3_000, 100);
        assert!(world.run(MINUTE), "seed {seed}");
        assert!(world.store.ends.values().all(|end| *end == End::Completed), "seed {seed}");
        assert!(world.leases < 400, "seed {seed}: {} leases", world.leases);
        // 3,000 requests of 120 ms on 96 slots need 3.75 s at least.
        assert!(world.now < 5_500, "seed {seed}: {} ms", world.now);
        assert!(world.scheduler.is_idle());
    }
}

#[test]
fn everything_ends_whatever_is_lost_cancelled_or_fails() {
    for seed in 0..60 {
        let luck = Luck { error: 100, undone: 30, lost: 30, cancel: 50 };
        let limits: &[u32] = [&[1][..], &[4, 1], &[16, 8, 64]][usize::try_from(seed % 3).unwrap()];
        let mut world = World::new(seed, limits, luck);
        if seed % 2 == 0 {
            world.endanger_deadlines();
        }
        for account in 0..4 {
            world.enqueue(account, account * 100..account * 100 + 60, 100);
        }
        assert!(world.run(60 * MINUTE), "seed {seed}: {:?}", world.scheduler);
        assert_eq!(world.store.ends.len(), 240, "seed {seed}");
        let completed = world.store.ends.values().filter(|end| **end == End::Completed).count();
        assert!(completed >= 180, "seed {seed}: {completed} completed");
        world.assert_nothing_left(60 * MINUTE, seed);
    }
}

#[test]
fn poison_fails_and_harms_no_neighbour() {
    for seed in 0..20 {
        let limits: &[u32] = if seed % 2 == 0 { &[16] } else { &[16, 8] };
        let mut world = World::new(seed, limits, Luck::default());
        world.poison.extend([17, 140]);
        world.enqueue(1, 0..100, 100);
        world.enqueue(2, 100..200, 100);
        assert!(world.run(60 * MINUTE), "seed {seed}");
        for (seq, end) in &world.store.ends {
            let expected =
                if [17, 140].contains(seq) { End::Failed("engine_unavailable") } else { End::Completed };
            assert_eq!(*end, expected, "seed {seed}, request {seq}");
        }
    }
}

#[test]
fn a_light_account_is_not_starved_by_a_heavy_one() {
    for seed in 0..10 {
        let mut world = World::new(seed, &[8], Luck::default());
        world.enqueue(1, 0..2_000, 100);
        world.run(2_000);
        let before = world.ended_order.len();
        world.enqueue(2, 5_000..5_020, 100);
        world.run(10 * MINUTE);
        let last = world.ended_order.iter().rposition(|seq| *seq >= 5_000).unwrap() - before;
        assert!(last < 100, "seed {seed}: 20 requests took the time of {last}");
    }
}

#[test]
fn replicas_that_come_and_go_lose_nothing() {
    for seed in 0..20 {
        let luck = Luck { error: 20, undone: 20, lost: 20, cancel: 20 };
        let mut world = World::new(seed, &[8, 4, 2], luck);
        world.enqueue(1, 0..300, 100);
        for turn in 0..20 {
            let keys = [&[1, 2][..], &[], &[3], &[1, 2, 3]][usize::try_from(turn % 4).unwrap()];
            world.keep_replicas(turn * 300, keys);
        }
        assert!(world.run(60 * MINUTE), "seed {seed}");
        world.assert_nothing_left(60 * MINUTE, seed);
        assert_eq!(world.scheduler.replicas.len(), 3, "seed {seed}");
    }
}

#[test]
fn replicas_that_open_and_close_lose_nothing_and_get_nothing_outside_their_hours() {
    for seed in 0..20 {
        let luck = Luck { error: 20, undone: 20, lost: 20, cancel: 20 };
        let mut world = World::new(seed, &[8, 4, 2], luck);
        world.poison.extend([17, 140]);
        world.enqueue(1, 0..150, 100);
        world.enqueue(2, 150..300, 100);
        for turn in 0..20 {
            let (key, lasts_ms) = (1 + u32::try_from(turn % 3).unwrap(), 100 + world.random.up_to(2_000));
            world.set_hours(turn * 300, key, turn % 2 == 0, lasts_ms);
        }
        (1..=3).for_each(|key| world.set_hours(8_000, key, true, 600 * MINUTE));
        assert!(world.run(60 * MINUTE), "seed {seed}");
        world.assert_nothing_left(60 * MINUTE, seed);
    }
}

#[test]
fn replicas_that_yield_to_others_lose_nothing() {
    for seed in 0..20 {
        let luck = Luck { error: 20, undone: 20, lost: 20, cancel: 20 };
        let limits: &[u32] = if seed % 2 == 0 { &[16] } else { &[16, 4] };
        let mut world = World::new(seed, limits, luck);
        world.change_first(|it| it.colocated_percent = Some(50));
        world.poison.extend([17, 140]);
        world.enqueue(1, 0..150, 100);
        world.enqueue(2, 150..300, 100);
        for turn in 0..60 * 60 {
            // Some are lost, and for minutes the engine is overloaded.
            let is_busy = turn % 240 < 120 && turn < 1_800;
            let (of_others, waiting) = if is_busy { (14, world.random.up_to(3)) } else { (2, 0) };
            if turn % 60 >= 8 {
                world.tell_load(turn * 1_000, of_others, waiting);
            }
        }
        assert!(world.run(60 * MINUTE), "seed {seed}");
        world.assert_nothing_left(120 * MINUTE, seed);
    }
}

#[test]
fn replicas_with_rate_limits_lose_nothing_and_get_no_more_than_they_may() {
    for seed in 0..20 {
        let luck = Luck { error: 50, undone: 20, lost: 20, cancel: 20 };
        let limits: &[u32] = if seed % 2 == 0 { &[16] } else { &[16, 4] };
        let mut world = World::new(seed, limits, luck);
        let tokens_per_minute = (seed % 4 < 2).then_some(6_000);
        let rate_limits = RateLimits { requests_per_minute: Some(50), tokens_per_minute };
        world.change_first(|it| it.rate_limits = rate_limits);
        world.poison.extend([17, 140]);
        world.enqueue(1, 0..150, 100);
        world.enqueue(2, 150..300, 100);
        assert!(world.run(60 * MINUTE), "seed {seed}");
        world.assert_nothing_left(120 * MINUTE, seed);
        let first: Vec<i64> =
            world.sent.iter().filter(|(key, ..)| *key == ReplicaKey(1)).map(|(_, at, _)| *at).collect();
        assert!(first.len() > if limits.len() == 1 { 300 } else { 20 }, "seed {seed}: {}", first.len());
        assert!(first.windows(51).all(|it| it[50] - it[0] >= MINUTE), "seed {seed}");
    }
}

#[test]
fn replicas_with_daily_budgets_lose_nothing_and_get_no_more_than_they_may() {
    const DAY: i64 = 24 * 60 * MINUTE;
    for seed in 0..8 {
        let luck = Luck { error: 50, undone: 20, lost: 20, cancel: 20 };
        let is_alone = seed % 4 == 0;
        let limits: &[u32] = if is_alone { &[16] } else { &[16, 4] };
        let mut world = World::new(seed, limits, luck);
        // Plans by the previous clock are over when it is set.
        world.idle(5_000);
        world.now = DAY - 20 * MINUTE;
        let most = if is_alone { 300 } else { 40 };
        let tokens_per_day = (seed % 2 == 1).then_some(3_000);
        let daily_limits = DailyLimits { requests_per_day: Some(most), tokens_per_day };
        world.change_first(|it| it.daily_limits = daily_limits);
        world.poison.extend([17, 140]);
        world.enqueue(1, 0..150, 100);
        world.enqueue(2, 150..300, 100);
        assert!(world.run(60 * MINUTE), "seed {seed}");
        world.assert_nothing_left(120 * MINUTE, seed);
        let first = world.sent.iter().filter(|(key, ..)| *key == ReplicaKey(1)).map(|(_, at, _)| at / DAY);
        let days: Vec<i64> = first.collect();
        assert!(days.len() > if is_alone { 300 } else { 10 }, "seed {seed}: {}", days.len());
        let most = usize::try_from(most).unwrap();
        assert!(days.windows(most + 1).all(|it| it[most] > it[0]), "seed {seed}");
    }
}

#[test]
fn engines_that_are_started_and_stopped_lose_nothing_and_one_runs_on_a_device_at_a_time() {
    for seed in 0..40 {
        let luck = Luck { error: 50, undone: 20, lost: 20, cancel: 20 };
        let mut world = World::new(seed, &[16, 8, 4], luck);
        world.give_processes((seed % 2 == 0).then_some(DeviceKey(1)));
        if seed % 3 == 0 {
            world.endanger_deadlines();
        }
        world.set_hours(0, 3, false, 30_000);
        if seed % 4 == 1 {
            world.poison.extend([5, 70]);
        }
        world.enqueue(1, 0..300, 100);
        world.enqueue(2, 300..360, 100);
        assert!(world.run(600 * MINUTE), "seed {seed}: {:?}", world.scheduler);
        assert_eq!(world.store.ends.len(), 360, "seed {seed}");
        world.assert_nothing_left(60 * MINUTE, seed);
        assert_eq!(world.started(), 0, "seed {seed}: all are stopped where nothing is to be done");
    }
}

#[test]
fn the_same_seed_replays_the_same_world() {
    let run = || {
        let luck = Luck { error: 100, undone: 30, lost: 30, cancel: 50 };
        let mut world = World::new(42, &[16, 8], luck);
        world.enqueue(1, 0..200, 100);
        world.run(60 * MINUTE);
        (world.now, world.leases, world.store.ends)
    };
    assert_eq!(run(), run());
}
