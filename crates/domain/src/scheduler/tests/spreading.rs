//! Fewer requests than slots.

use super::super::spreading::Spread;
use super::super::*;
use super::desk::Desk;
use super::{MODEL, candidate, partition, replica};

/// The number of requests that each replica was sent, from messages.
fn sent_of(said: &[String], replicas: usize) -> Vec<usize> {
    (1..=replicas).map(|key| said.iter().filter(|it| it.ends_with(&format!(" to {key}"))).count()).collect()
}

/// The same since the last call.
fn sent(desk: &mut Desk, replicas: usize) -> Vec<usize> {
    sent_of(&desk.hear(), replicas)
}

fn spread(desk: &Desk) -> Spread {
    desk.scheduler.spread(ReplicaKey(1), MODEL, desk.now)
}

#[test]
fn few_requests_are_spread_over_all_replicas() {
    let mut desk = Desk::of(&[64; 4], 1..=100);
    assert_eq!(sent(&mut desk, 4), [25; 4]);
    let mut desk = Desk::of(&[64; 6], 1..=100);
    let sent = sent(&mut desk, 6);
    assert!(sent.iter().sum::<usize>() == 100 && sent.iter().all(|it| *it <= 17), "{sent:?}");
}

#[test]
fn they_are_spread_in_proportion_to_the_slots() {
    let mut desk = Desk::of(&[16, 48], 1..=32);
    assert_eq!(sent(&mut desk, 2), [8, 24]);
    let mut desk = Desk::of(&[2, 62], 1..=60);
    assert_eq!(sent(&mut desk, 2), [2, 58], "a small part still leaves no more than there are slots");
}

#[test]
fn a_group_stays_with_one_replica() {
    let mut desk = Desk::new(&[64; 4]);
    let groups = 1..=4_i64;
    desk.enqueue(1, groups.clone().flat_map(|group| (0..10).map(move |seq| group << 32 | seq)));
    let said = desk.hear();
    assert_eq!(sent_of(&said, 4), [10; 4]);
    let replicas_of = |group: i64| {
        let of_group = said.iter().filter_map(|it| {
            let (seq, replica) = it.strip_prefix("send ")?.split_once(" to ")?;
            (seq.parse::<i64>().ok()? >> 32 == group).then_some(replica)
        });
        of_group.collect::<BTreeSet<_>>().len()
    };
    assert_eq!(groups.map(replicas_of).collect::<Vec<_>>(), [1; 4]);
}

#[test]
fn very_few_requests_are_left_to_one_replica() {
    let mut desk = Desk::of(&[64; 4], 1..=4);
    assert_eq!(sent(&mut desk, 4).iter().max(), Some(&4));
}

#[test]
fn requests_that_come_one_by_one_are_sent_at_once() {
    let mut desk = Desk::new(&[8; 4]);
    for seq in 1..=32 {
        desk.enqueue(1, [seq]);
        assert_eq!(sent(&mut desk, 4).iter().sum::<usize>(), 1, "{seq}");
    }
}

#[test]
fn where_as_many_requests_as_slots_wait_or_run_each_replica_takes_what_it_has_room_for() {
    let mut desk = Desk::new(&[8, 8]);
    assert_eq!(spread(&desk), Spread::Unlimited, "nothing waits");
    desk.enqueue(1, 1..=15);
    assert_eq!(spread(&desk), Spread::Parts { requests: 15, slots: 16 });
    desk.enqueue(2, [16]);
    assert_eq!(spread(&desk), Spread::Unlimited, "the requests of all accounts count");
    assert_eq!(sent(&mut desk, 2), [8, 8]);
    let mut alone = Desk::new(&[8]);
    alone.enqueue(1, [1]);
    assert_eq!(spread(&alone), Spread::Unlimited, "there is nobody to leave anything to");
}

#[test]
fn a_replica_that_can_take_nothing_has_no_part() {
    let mut desk = Desk::new(&[64; 3]);
    desk.close(ReplicaKey(1), None, true);
    desk.enqueue(1, 1..=40);
    assert_eq!(sent(&mut desk, 3), [0, 20, 20]);
    let mut desk = Desk::new(&[64; 3]);
    let colocated = |key| Replica { colocated_percent: Some(50), ..replica(key, 64) };
    desk.feed(SchedulerInput::Replicas(vec![colocated(1), replica(2, 64), replica(3, 64)]));
    desk.enqueue(1, 1..=40);
    assert_eq!(sent(&mut desk, 3), [0, 20, 20], "its load is not told");
}

#[test]
fn a_replica_outside_its_hours_has_a_part_for_deadlines_and_none_of_what_others_can_take() {
    let mut desk = Desk::new(&[62, 2]);
    desk.close(ReplicaKey(1), None, true);
    let (soon, day) = (desk.now + 3_600_000, desk.now + 86_400_000);
    desk.enqueue_due(1, (1..=10).map(|seq| (seq, soon)));
    assert_eq!(sent(&mut desk, 2), [0, 2]);
    desk.wait(32_000);
    assert_eq!(sent(&mut desk, 2), [8, 0]);
    desk.enqueue_due(1, (11..=20).map(|seq| (seq, day)));
    assert_eq!(spread(&desk), Spread::Parts { requests: 20, slots: 64 });
    assert_eq!(desk.scheduler.spread(ReplicaKey(2), MODEL, desk.now), Spread::Unlimited);
}

#[test]
fn requests_that_nobody_counted_are_found_though_every_replica_has_its_part() {
    let mut desk = Desk::of(&[64, 64], 1..=10);
    assert_eq!(sent(&mut desk, 2), [5, 5]);
    desk.store.insert(partition(1), candidate(11));
    desk.wait(11_000);
    assert_eq!(sent(&mut desk, 2).iter().sum::<usize>(), 1);
}

#[test]
fn where_nodes_share_the_queue_nothing_is_spread_by_what_one_node_knows() {
    let mut desk = Desk::new(&[64, 64]);
    desk.scheduler = Scheduler::new(Settings { is_shared: true, ..Settings::default() }, 7);
    desk.feed(SchedulerInput::Replicas(vec![replica(1, 64), replica(2, 64)]));
    desk.feed(SchedulerInput::Waiting(vec![partition(1)]));
    assert_eq!(spread(&desk), Spread::Unlimited);
}
