//! A replica's room.

use super::super::messages::{EngineLoad, ReplicaKey, SchedulerInput};
use super::super::random::Random;
use super::super::replicas::{Filling, Probe, ReplicaState};
use super::desk::Desk;
use super::{MODEL, replica};
use crate::scheduler::EngineHours;

fn state(limit: u32) -> ReplicaState {
    ReplicaState::new(replica(1, limit), EngineHours::ALWAYS)
}

fn ahead(limit: u32) -> usize {
    state(limit).ahead()
}

#[test]
fn few_slots_lease_next_to_nothing_ahead_and_many_half_of_them_or_more() {
    assert_eq!([1, 2, 4, 8, 9, 64, 128, 256, 4096].map(ahead), [0, 0, 1, 2, 4, 32, 64, 192, 256]);
}

#[test]
fn room_is_worth_a_write_or_none() {
    let mut state = state(256);
    assert_eq!((state.room(Filling::Ahead, 0), state.room(Filling::IdleSlots, 0)), (448, 256));
    (0..256).for_each(|seq| state.occupy(seq));
    assert_eq!((state.room(Filling::Ahead, 0), state.room(Filling::IdleSlots, 0)), (192, 0));
    state.buffered.extend(300..396);
    assert_eq!(state.room(Filling::Ahead, 0), 96);
    state.buffered.push_back(400);
    assert_eq!(state.room(Filling::Ahead, 0), 0, "less than half of what may wait is not worth a write");
}

#[test]
fn a_busy_engine_is_left_alone_longer_each_time_but_once_per_pause() {
    let mut state = state(8);
    let mut random = Random::new(1);
    let first = state.back_off(0, &mut random, 0);
    assert!((125..=250).contains(&first));
    assert_eq!(state.back_off(0, &mut random, 0), first, "the same pause");
    assert!(!state.is_usable(first - 1) && state.is_usable(first));
    assert!((250..=500).contains(&state.back_off(0, &mut random, 1_000)));
    assert_eq!(state.back_off(7_000, &mut random, 1_100), 7_000);
}

#[test]
fn a_request_is_alone_until_another_is_sent() {
    let mut state = state(8);
    state.occupy(1);
    assert_eq!(state.alone, Some(1));
    state.occupy(2);
    state.forget(1);
    assert_eq!(state.alone, None, "it was not alone all the time");
}

#[test]
fn a_probe_settles_the_doubts_that_came_before_it_and_are_still_held() {
    let mut state = state(8);
    (1..=4).for_each(|seq| state.occupy(seq));
    state.doubts = vec![1, 2, 3, 4];
    state.probe = Some(Probe { asked_at: 0, doubts: 3, model: MODEL });
    let left = |state: &ReplicaState| (state.doubts.clone(), state.probe.as_ref().map(|it| it.doubts));
    for (seq, doubts, before) in
        [(2, vec![1, 3, 4], 2), (9, vec![1, 3, 4], 2), (4, vec![1, 3], 2), (3, vec![1], 1)]
    {
        state.forget(seq);
        assert_eq!(left(&state), (doubts, Some(before)), "without {seq}");
    }
}

#[test]
fn what_was_leased_ahead_is_given_to_an_idle_replica_where_a_limit_falls() {
    for has_other in [false, true] {
        let mut desk = Desk::of(&[64], 1..=96);
        assert_eq!((desk.flying().len(), desk.waiting()), (64, 0), "32 wait for a slot");
        if has_other {
            desk.feed(SchedulerInput::Replicas(vec![replica(1, 64), replica(2, 40)]));
        }
        desk.hear();
        for running in [4, 5, 6] {
            let load = EngineLoad { running, waiting: 60, cache_permille: 0, preemptions: 0 };
            desk.feed(SchedulerInput::Load { replica: ReplicaKey(1), load });
        }
        desk.wait(1_000);
        let sent = desk.hear().iter().filter(|it| it.ends_with("to 2")).count();
        assert_eq!(sent, if has_other { 16 } else { 0 });
    }
}
