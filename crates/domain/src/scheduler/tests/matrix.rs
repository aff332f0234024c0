//! Faults of engines by what they affect: one of two accounts, a whole engine for a minute, one of two backends for ten.

use super::super::AttemptError;
use super::store::End;
use super::world::{Fault, Luck, Scope, World, status};

const MINUTE: i64 = 60_000;
const ACCOUNT: std::ops::Range<i64> = 0..60;
const OTHER: std::ops::Range<i64> = 1_000..1_300;
/// A healthy account's requests, which take as long as those of the other.
const MUCH: i64 = 600;

fn named(code: u16, retry_after_ms: i64) -> AttemptError {
    AttemptError::Status { code, message: "words".into(), retry_after_ms: Some(retry_after_ms) }
}

/// Failures that are about the engine or pass by themselves: they fail no request.
fn passing() -> Vec<AttemptError> {
    let codes = [301, 401, 402, 403, 404, 407, 408, 409, 423, 424, 425, 429, 449, 498, 499];
    let codes = codes.into_iter().chain([500, 502, 503, 504, 507, 529]).map(status);
    let words = || "words".to_owned();
    let others = [
        named(429, 3_000),
        named(503, 21_000),
        named(429, 90_000),
        AttemptError::Connect(words()),
        AttemptError::Reset(words()),
        AttemptError::TimedOut(words()),
        AttemptError::NotACompletion(words()),
        AttemptError::NoUsage(words()),
        AttemptError::Aborted(words()),
    ];
    codes.chain(others).collect()
}

/// Failures that end a request if the engine works.
fn lasting() -> Vec<AttemptError> {
    let codes = [400, 405, 410, 413, 422, 451, 501].into_iter().map(status);
    let words = || "words".to_owned();
    let others = [
        AttemptError::UnlistedModel { code: 400, message: words() },
        AttemptError::NotServed(Some(404), words()),
        AttemptError::TooLong(words()),
        AttemptError::BadUsage(words()),
        AttemptError::TooSlow(words()),
    ];
    codes.chain(others).collect()
}

/// Time for all requests of the other account, in milliseconds, beside `count` of the first account, of which `struck` are affected.
fn time_of_other(error: Option<&AttemptError>, count: i64, struck: i64, seed: u64) -> (World, i64) {
    let mut world = World::new(seed, &[8], Luck::default());
    world.window_ms = 10 * MINUTE;
    world.fault =
        error.cloned().map(|error| Fault { error, scope: Scope::Requests(struck), until: i64::MAX });
    world.enqueue(1, 0..count, 100);
    world.run(500);
    let begun_at = world.now;
    world.enqueue(2, OTHER, 100);
    while world.store.ends.range(OTHER).count() < OTHER.count() {
        world.idle(1);
        assert!(world.now < begun_at + 10 * MINUTE, "{error:?}: {} completed", world.store.ends.len());
    }
    let took_ms = world.now - begun_at;
    (world, took_ms)
}

#[test]
fn a_fault_of_one_account_costs_another_less_than_a_fifth_of_its_rate() {
    for seed in 0..2 {
        let (_, well_ms) = time_of_other(None, MUCH, 0, seed);
        for error in passing().into_iter().chain(lasting()) {
            for struck in [1, ACCOUNT.end] {
                // An unreachable engine is paused for both.
                if matches!(error, AttemptError::Connect(_)) {
                    continue;
                }
                let (world, took_ms) = time_of_other(Some(&error), ACCOUNT.end, struck, seed);
                assert!(
                    took_ms * 4 / 5 <= well_ms,
                    "seed {seed}, {error:?} {struck}: {took_ms} of {well_ms} ms"
                );
                assert_eq!(world.pauses, 0, "seed {seed}, {error:?} {struck}");
                let others = world.store.ends.range(OTHER);
                assert!(others.into_iter().all(|(_, end)| *end == End::Completed), "{error:?} {struck}");
                let broken = world.store.ends.range(0..struck);
                assert!(broken.into_iter().all(|(_, end)| *end != End::Completed), "{error:?} {struck}");
            }
        }
    }
}

#[test]
fn after_a_minute_in_which_an_engine_refuses_everything_all_requests_complete_within_two() {
    for seed in 0..4 {
        for error in passing().into_iter().chain([status(400), status(422)]) {
            let mut world = World::new(seed, &[8], Luck::default());
            let until = world.now + MINUTE;
            world.fault = Some(Fault { error: error.clone(), scope: Scope::Engine, until });
            world.enqueue(1, ACCOUNT, 100);
            world.enqueue(2, OTHER, 100);
            assert!(world.run(3 * MINUTE), "seed {seed}, {error:?}: {} left", world.store.rows.len());
            assert!(world.store.ends.values().all(|end| *end == End::Completed), "seed {seed}, {error:?}");
            let calls = world.sent.iter().filter(|(_, at, _)| *at < until).count();
            assert!(calls < 500, "seed {seed}, {error:?}: {calls} calls");
        }
    }
}

#[test]
fn requests_survive_ten_minutes_in_which_one_of_two_backends_fails() {
    for seed in 0..8 {
        for error in passing() {
            let mut world = World::new(seed, &[8], Luck::default());
            let until = world.now + 10 * MINUTE;
            world.fault = Some(Fault { error: error.clone(), scope: Scope::OneOfTwoBackends, until });
            world.enqueue(1, 0..100, 100);
            world.enqueue(2, 100..200, 100);
            assert!(world.run(60 * MINUTE), "seed {seed}, {error:?}: {} left", world.store.rows.len());
            assert!(world.store.ends.values().all(|end| *end == End::Completed), "seed {seed}, {error:?}");
        }
    }
}
