//! Engines that share a device, with faults.

use super::super::*;
use super::devices::{HOUR, MINUTE, Night};
use super::store::End;

const SECOND: ReplicaKey = ReplicaKey(2);

/// A model's engine ends by itself, with its requests in flight.
fn crash(night: &mut Night, replica: ReplicaKey) {
    night.changes.remove(&replica);
    night.on_device.remove(&replica);
    night.desk.stopped(replica, Some("it was ended by signal 9"));
    for seq in night.desk.flying() {
        night.desk.reset(seq);
        night.done_at.remove(&seq);
    }
}

/// Time passes in which these models always have more work than the device can do, none of it due soon.
fn pass_busily(night: &mut Night, models: &[i64], hours: i64) {
    for _ in 0..2 * hours {
        for model in models {
            let of = |partition: &QueuePartition| partition.model == ModelKey(*model);
            if night.desk.store.rows.keys().filter(|(partition, _)| of(partition)).count() < 1_500 {
                night.post(*model, *model, 1_500, 48 * HOUR);
            }
        }
        night.pass(30 * MINUTE);
    }
}

fn swap_ms(night: &Night, key: ReplicaKey) -> i64 {
    night.desk.scheduler.replicas[&key].process.as_ref().unwrap().swap_ms.unwrap()
}

#[test]
fn engines_that_take_long_to_load_have_their_turns_too() {
    let mut night = Night::new(2);
    night.load_ms = 11 * MINUTE;
    pass_busily(&mut night, &[1], 1);
    pass_busily(&mut night, &[1, 2], 14);
    assert!((3..=5).contains(&night.order().len()), "{:?}", night.turns);
    assert!(night.lost_ms < 60 * MINUTE, "{} s of 15 h", night.lost_ms / 1_000);
}

#[test]
fn deadlines_are_met_on_a_device_whose_engines_take_long_to_load() {
    let mut night = Night::new(2);
    night.load_ms = 20 * MINUTE;
    night.post(1, 1, 100, 48 * HOUR);
    night.pass(HOUR);
    night.post(2, 2, 100, 48 * HOUR);
    night.pass(2 * HOUR);
    assert_eq!(night.order(), [1, 2], "what both take is known");
    let guard_ms = night.desk.scheduler.start_guard_ms(ModelKey(2));
    assert!(
        guard_ms < 4 * HOUR,
        "a device that owes all it may has earned the next turn by then: {guard_ms} ms"
    );
    pass_busily(&mut night, &[1], 2);
    let (seqs, due_at) = (night.post(2, 2, 100, 12 * HOUR), night.desk.now + 12 * HOUR);
    pass_busily(&mut night, &[1], 12);
    assert_eq!(night.late(seqs, due_at), 0, "{:?}", night.turns);
}

#[test]
fn a_start_that_failed_is_no_part_of_the_swap_to_another() {
    let mut night = Night::new(2);
    night.broken.insert(1);
    night.post(1, 1, 1, 24 * HOUR);
    night.pass(20_000);
    night.post(2, 2, 100, 24 * HOUR);
    night.pass(5 * MINUTE);
    assert_eq!(night.order(), [2]);
    assert!(swap_ms(&night, SECOND) < 70_000);
}

#[test]
fn a_start_that_failed_long_ago_is_no_part_of_a_swap() {
    let mut night = Night::new(2);
    night.broken.insert(1);
    let seqs = night.post(1, 1, 1, 24 * HOUR);
    night.pass(3 * MINUTE);
    seqs.clone().for_each(|seq| night.desk.store.finish(seq, End::Cancelled));
    night.desk.feed(SchedulerInput::Ended { seqs: seqs.collect() });
    night.pass(3 * HOUR);
    night.post(2, 2, 100, 24 * HOUR);
    night.pass(5 * MINUTE);
    assert!(swap_ms(&night, SECOND) < 2 * MINUTE);
}

#[test]
fn a_swap_to_one_whose_work_is_cancelled_meanwhile_is_no_part_of_the_next() {
    let mut night = Night::new(2);
    night.post(1, 1, 800, 24 * HOUR);
    night.pass(10 * MINUTE);
    let seqs = night.post(2, 2, 16, 15 * MINUTE);
    while night.changes.is_empty() {
        night.pass(1_000);
    }
    night.desk.store.rows.clear();
    night.desk.feed(SchedulerInput::Ended { seqs: seqs.collect() });
    night.desk.feed(SchedulerInput::Backlogs(Vec::new()));
    night.pass(3 * HOUR);
    assert_eq!(night.order(), [1]);
    night.post(2, 2, 100, 24 * HOUR);
    night.pass(5 * MINUTE);
    assert!(swap_ms(&night, SECOND) < 2 * MINUTE);
}

#[test]
fn one_that_crashed_has_its_turn_again_when_a_slice_is_over() {
    let mut night = Night::new(2);
    night.post(1, 1, 4_000, 24 * HOUR);
    night.pass(10 * MINUTE);
    night.post(2, 2, 1_500, 24 * HOUR);
    night.pass(MINUTE);
    crash(&mut night, ReplicaKey(1));
    pass_busily(&mut night, &[2], 3);
    assert_eq!(night.order()[..3], [1, 2, 1]);
}

#[test]
fn one_that_cannot_be_started_costs_another_little_of_its_time() {
    let mut night = Night::new(2);
    night.broken.insert(2);
    night.post(1, 1, 1_500, 48 * HOUR);
    night.pass(5 * MINUTE);
    let before_ms = night.lost_ms;
    for _ in 0..6 {
        night.post(2, 2, 100, 30 * MINUTE);
        pass_busily(&mut night, &[1], 1);
    }
    assert!(night.lost_ms - before_ms < 19 * MINUTE, "{} s of 6 h", night.lost_ms / 1_000);
}

#[test]
fn what_a_model_had_of_the_device_while_nobody_waited_is_no_lead() {
    let mut night = Night::new(2);
    pass_busily(&mut night, &[2], 3);
    night.pass(HOUR);
    assert!(night.on_device.is_empty(), "all of it is done");
    night.post(1, 1, 8_000, 24 * HOUR);
    night.pass(20 * MINUTE);
    let (seqs, due_at) = (night.post(2, 2, 100, HOUR), night.desk.now + HOUR);
    night.pass(2 * HOUR);
    assert_eq!(night.late(seqs, due_at), 0, "{:?}", night.turns);
}

#[test]
fn a_clock_that_was_set_back_puts_no_start_and_no_stop_off() {
    let mut night = Night::new(2);
    night.desk.now += 100 * HOUR;
    night.broken.insert(1);
    night.post(1, 1, 10, 48 * HOUR);
    while night.desk.scheduler.process_error(ReplicaKey(1)).is_none() {
        night.pass(1_000);
    }
    night.broken.clear();
    night.desk.now -= 10 * HOUR;
    night.pass(10 * MINUTE);
    assert_eq!((night.order(), night.done.len()), (vec![1], 10));
    night.desk.now -= 10 * HOUR;
    night.pass(11 * MINUTE);
    assert!(night.on_device.is_empty(), "it is stopped when it has long been idle");
}

#[test]
fn an_engine_that_is_being_started_gives_way_to_a_deadline() {
    let mut night = Night::new(2);
    night.load_ms = 40 * MINUTE;
    night.post(1, 1, 100, 24 * HOUR);
    night.pass(2 * MINUTE);
    let (seqs, due_at) = (night.post(2, 2, 100, 80 * MINUTE), night.desk.now + 80 * MINUTE);
    night.pass(3 * HOUR);
    assert_eq!((night.order(), night.late(seqs, due_at)), (vec![2, 1], 0));
}
