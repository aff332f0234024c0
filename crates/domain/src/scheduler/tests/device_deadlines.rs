//! Deadlines on a device whose engines load slowly, so that swaps there and back are expensive.

use super::super::messages::{DeviceKey, ModelKey, ReplicaKey};
use super::devices::{HOUR, MINUTE, Night};

/// A night in which both engines are known to load this long, and the first has worked for some hours and has more to do.
fn night(load_ms: i64) -> Night {
    let mut night = Night::new(2);
    night.load_ms = load_ms;
    night.post(1, 1, 100, 48 * HOUR);
    night.pass(load_ms + 20 * MINUTE);
    night.post(2, 2, 100, 48 * HOUR);
    night.pass(load_ms + 30 * MINUTE);
    night.post(1, 1, 20_000, 48 * HOUR);
    night.pass(load_ms + 5 * HOUR);
    assert_eq!(night.order(), [1, 2, 1], "{} min", load_ms / MINUTE);
    night
}

#[test]
fn no_deadline_is_missed_where_a_swap_there_and_back_could_be_had() {
    for load_ms in [1, 4, 6, 11, 20, 40].map(|minutes| minutes * MINUTE) {
        let mut night = night(load_ms);
        night.post(2, 2, 8_000, 48 * HOUR);
        let (there, there_due_at) =
            (night.post(2, 2, 100, load_ms + 30 * MINUTE), night.desk.now + load_ms + 30 * MINUTE);
        while night.order().last() != Some(&2) {
            night.pass(1_000);
        }
        let (back, back_due_at) = (night.post(1, 1, 100, load_ms + HOUR), night.desk.now + load_ms + HOUR);
        night.pass(2 * load_ms + 2 * HOUR);
        let late = (night.late(there, there_due_at), night.late(back, back_due_at));
        assert_eq!(late, (0, 0), "{} min: {:?}", load_ms / MINUTE, night.turns);
    }
}

#[test]
fn deadlines_of_two_models_that_never_end_do_not_swap_a_device_without_end() {
    for load_ms in [1, 20].map(|minutes| minutes * MINUTE) {
        let mut night = night(load_ms);
        let (before_ms, before) = (night.lost_ms, night.turns.len());
        for _ in 0..48 {
            night.post(1, 1, 100, HOUR);
            night.post(2, 2, 100, HOUR);
            night.pass(15 * MINUTE);
        }
        let lost_ms = night.lost_ms - before_ms;
        let turns = night.turns.len() - before;
        assert!(
            lost_ms < 5 * HOUR,
            "{} min: {turns} turns, {} min of 12 h",
            load_ms / MINUTE,
            lost_ms / MINUTE
        );
    }
}

#[test]
fn the_guard_reckons_with_what_the_swap_back_to_the_slowest_engine_costs() {
    let mut night = Night::new(2);
    night.post(1, 1, 100, 48 * HOUR);
    night.pass(5 * MINUTE);
    let guard_ms = |night: &mut Night, back_ms| {
        for (key, swap_ms) in [(1, back_ms), (2, MINUTE)] {
            let replica = night.desk.scheduler.replicas.get_mut(&ReplicaKey(key)).unwrap();
            replica.process.as_mut().unwrap().swap_ms = Some(swap_ms);
        }
        night.desk.scheduler.devices.get_mut(&DeviceKey(1)).unwrap().credit_ms = -7 * MINUTE;
        night.desk.scheduler.start_guard_ms(ModelKey(2))
    };
    assert_eq!(guard_ms(&mut night, MINUTE), MINUTE, "the device may owe ten minutes");
    // The part that it may not owe is earned at a twentieth.
    assert_eq!(guard_ms(&mut night, 9 * MINUTE), MINUTE + 20 * 7 * MINUTE);
}
