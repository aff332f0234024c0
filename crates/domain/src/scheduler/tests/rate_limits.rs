//! Replicas with rate limits.

use super::super::random::Random;
use super::super::*;
use super::desk::Desk;
use super::limited::{at, complete, desk_of, enqueue};
use super::replica;
use super::store::End;

const FIRST: ReplicaKey = ReplicaKey(1);
const REQUESTS: fn(u32) -> RateLimits =
    |most| RateLimits { requests_per_minute: Some(most), tokens_per_minute: None };
const TOKENS: fn(i64) -> RateLimits =
    |most| RateLimits { requests_per_minute: None, tokens_per_minute: Some(most) };

fn limited(key: u32, max_concurrency: u32, rate_limits: RateLimits) -> Replica {
    Replica { rate_limits, ..replica(key, max_concurrency) }
}

fn desk(slots: u32, rate_limits: RateLimits, others: &[u32]) -> Desk {
    desk_of(limited(1, slots, rate_limits), others)
}

fn sent_to(desk: &mut Desk, key: u32) -> usize {
    let end = format!(" to {key}");
    desk.hear().iter().filter(|it| it.starts_with("send") && it.ends_with(&end)).count()
}

fn next_at(desk: &Desk) -> Option<i64> {
    desk.scheduler.replicas[&FIRST].next_at(desk.now)
}

#[test]
fn no_minute_has_more_requests_than_the_limit_however_fast_they_complete() {
    for (seed, slots) in [(1, 1), (2, 4), (3, 64), (4, 256)] {
        let (mut desk, mut random) = (desk(slots, REQUESTS(30), &[]), Random::new(seed));
        desk.enqueue(1, 1..=600);
        let mut sent = Vec::new();
        while desk.now < 1_600_000 {
            let count = sent_to(&mut desk, 1);
            sent.extend(std::iter::repeat_n(desk.now, count));
            desk.now += 1 + random.up_to(900);
            desk.feed(SchedulerInput::Tick);
            let done = random.up_to(i64::try_from(desk.sent.len()).unwrap());
            for seq in desk.flying().into_iter().take(usize::try_from(done).unwrap()) {
                complete(&mut desk, seq, 10);
            }
        }
        assert!(sent.windows(31).all(|it| it[30] - it[0] >= 60_000), "seed {seed}");
        assert!(sent.len() >= 250, "seed {seed}: {} in ten minutes", sent.len());
    }
}

#[test]
fn no_minute_has_more_tokens_than_the_limit() {
    let (mut desk, mut random) = (desk(64, TOKENS(1_000), &[]), Random::new(1));
    desk.enqueue(1, 1..=900);
    let mut sent = Vec::new();
    while desk.now < 1_900_000 {
        let count = sent_to(&mut desk, 1);
        sent.extend(std::iter::repeat_n(desk.now, count));
        desk.now += 1 + random.up_to(900);
        desk.feed(SchedulerInput::Tick);
        // 60 tokens each, of an estimate of 100.
        desk.flying().into_iter().take(2).for_each(|seq| complete(&mut desk, seq, 60));
    }
    assert!(sent.windows(17).all(|it| it[16] - it[0] >= 60_000), "16 requests are 960 tokens");
    assert!(sent.len() >= 200, "{}", sent.len());
}

#[test]
fn it_is_served_again_in_the_second_in_which_there_is_room() {
    let mut desk = desk(8, REQUESTS(2), &[]);
    desk.enqueue(1, 1..=5);
    assert_eq!(desk.hear(), ["send 1 to 1", "send 2 to 1"]);
    assert_eq!(next_at(&desk), Some(1_061_000));
    [1, 2].into_iter().for_each(|seq| desk.complete(seq));
    at(&mut desk, 1_060_999);
    assert_eq!((desk.hear(), next_at(&desk)), (vec![], Some(1_061_000)));
    assert!(desk.scheduler.is_idle(), "nothing is leased ahead");
    at(&mut desk, 1_061_000);
    assert_eq!(desk.hear(), ["send 3 to 1", "send 4 to 1"]);
}

#[test]
fn a_completion_that_used_less_than_was_reserved_makes_room_at_once() {
    let mut desk = desk(8, TOKENS(250), &[]);
    desk.enqueue(1, 1..=4);
    assert_eq!(desk.flying(), [1, 2]);
    complete(&mut desk, 1, 20);
    assert_eq!(desk.flying(), [2, 3]);
    desk.status(2, 429);
    desk.wait(6_000);
    complete(&mut desk, 3, 100);
    assert_eq!(desk.flying(), [0; 0], "what was refused keeps its reservation");
    at(&mut desk, 1_061_000);
    assert_eq!(desk.flying().len(), 2);
}

#[test]
fn what_never_reached_the_engine_does_not_count() {
    let mut desk = desk(1, REQUESTS(2), &[]);
    desk.enqueue(1, [1, 2]);
    desk.fail(1, AttemptError::Connect("refused".into()));
    assert_eq!(desk.hear(), ["send 1 to 1", "release lease 1", "probe 1"]);
    desk.probed_healthy();
    desk.wait(1_000);
    assert_eq!(desk.flying(), [2], "the probe counts, and the attempt does not");
    desk.complete(2);
    desk.wait(1_000);
    assert_eq!(desk.flying(), [0; 0]);
}

#[test]
fn another_replica_takes_what_waits_meanwhile() {
    let mut desk = desk(64, REQUESTS(3), &[4]);
    desk.enqueue(1, 1..=200);
    for _ in 0..100 {
        desk.wait(100);
        desk.flying().into_iter().for_each(|seq| desk.complete(seq));
    }
    assert_eq!(desk.store.ends.len(), 200, "in ten seconds");
    assert_eq!(sent_to(&mut desk, 1), 3);
}

#[test]
fn few_requests_are_not_kept_for_a_replica_that_may_not_be_sent_them() {
    let mut desk = desk(64, REQUESTS(1), &[64]);
    desk.enqueue(1, [1]);
    desk.enqueue(1, 2..=40);
    assert!(desk.flying().len() == 40, "{:?}", desk.flying());
}

#[test]
fn a_request_above_the_whole_limit_is_sent_alone_once_nothing_else_counts() {
    let mut desk = desk(8, TOKENS(300), &[]);
    enqueue(&mut desk, 1, 1, &[100, 5_000, 100, 100]);
    assert_eq!(desk.flying(), [1]);
    complete(&mut desk, 1, 100);
    at(&mut desk, 1_030_000);
    assert_eq!(desk.flying(), [0; 0], "and what comes after waits, else it would wait for ever");
    at(&mut desk, 1_061_000);
    assert_eq!(desk.flying(), [2]);
    at(&mut desk, 1_100_000);
    assert_eq!(desk.flying(), [2]);
    complete(&mut desk, 2, 200);
    assert_eq!(desk.flying(), [3]);
}

#[test]
fn a_request_that_no_longer_waits_for_room_holds_up_nothing() {
    let mut desk = desk(8, TOKENS(300), &[]);
    enqueue(&mut desk, 1, 1, &[100, 300, 100]);
    assert_eq!(desk.flying(), [1]);
    desk.store.finish(2, End::Cancelled);
    desk.feed(SchedulerInput::Ended { seqs: vec![2] });
    desk.wait(31_000);
    assert_eq!(desk.flying(), [1, 3], "what was seen of the queue is trusted for half a minute");
}

#[test]
fn a_probe_counts_and_waits_for_room() {
    let mut desk = desk(1, REQUESTS(1), &[]);
    desk.enqueue(1, [1, 2]);
    desk.status(1, 500);
    desk.wait(30_000);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
    at(&mut desk, 1_061_000);
    assert_eq!(desk.hear(), ["probe 1"]);
    desk.probed_healthy();
    desk.wait(60_000);
    assert_eq!(desk.hear(), ["release lease 1 counted"]);
    at(&mut desk, 1_122_000);
    assert_eq!(desk.flying().len(), 1);
}

#[test]
fn the_probe_of_a_paused_replica_wakes_nobody_before_there_is_room() {
    let mut desk = desk(1, REQUESTS(2), &[]);
    desk.enqueue(1, [1]);
    desk.status(1, 500);
    desk.probed_failed();
    assert!(desk.scheduler.is_paused(FIRST));
    desk.wait(10_000);
    assert_eq!(next_at(&desk), Some(1_061_000));
}

#[test]
fn a_request_that_is_sent_once_more_counts_twice_and_waits_for_room_where_it_is() {
    let mut desk = desk(4, REQUESTS(1), &[4]);
    desk.feed(SchedulerInput::Replicas(vec![limited(1, 4, REQUESTS(1))]));
    desk.enqueue(1, [1, 2]);
    desk.fail(1, AttemptError::LimitRefused);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
    desk.wait(60_000);
    assert_eq!(desk.hear(), [""; 0], "released, it would be refused again");
    at(&mut desk, 1_061_000);
    assert_eq!(desk.hear(), ["send 1 to 1"]);
    desk.complete(1);
    at(&mut desk, 1_122_000);
    assert_eq!(desk.flying(), [2]);
    desk.feed(SchedulerInput::Replicas(vec![replica(2, 1)]));
    desk.fail(2, AttemptError::LimitRefused);
    desk.wait(1_000);
    assert_eq!(desk.hear(), ["send 2 to 1", "release lease 2", "send 2 to 2"], "its replica has left");
}

#[test]
fn a_replica_that_leaves_and_comes_back_has_not_forgotten_what_it_was_sent() {
    let mut desk = desk(8, REQUESTS(2), &[]);
    desk.enqueue(1, 1..=5);
    [1, 2].into_iter().for_each(|seq| desk.complete(seq));
    desk.feed(SchedulerInput::Replicas(vec![]));
    desk.wait(10_000);
    desk.feed(SchedulerInput::Replicas(vec![limited(1, 8, REQUESTS(3))]));
    assert_eq!(desk.flying(), [3]);
    desk.complete(3);
    desk.feed(SchedulerInput::Replicas(vec![]));
    desk.wait(62_000);
    assert!(desk.scheduler.replicas.is_empty(), "a minute later nothing is left of it");
}

#[test]
fn it_is_told_when_a_limit_holds_requests_back() {
    let mut desk = desk(8, REQUESTS(2), &[]);
    let is_limited = |desk: &Desk| desk.scheduler.is_rate_limited(FIRST, desk.now);
    desk.enqueue(1, 1..=2);
    assert!(!is_limited(&desk), "nothing waits");
    desk.enqueue(1, [3]);
    assert!(is_limited(&desk));
    at(&mut desk, 1_061_000);
    assert!(!is_limited(&desk));
}
