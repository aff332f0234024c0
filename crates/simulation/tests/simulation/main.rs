//! The deterministic simulation over many seeds.

mod lease_protocol;
mod reference;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use overnight_simulation::{Failure, Summary, simulate};
use overnight_testkit::proof;

const SEEDS: u64 = 200;
const HOURS: u32 = 48;

#[test]
fn two_hundred_worlds_of_two_days_hold_every_promise() {
    let next = AtomicU64::new(0);
    let (total, failures) = (Mutex::new(Summary::default()), Mutex::new(Vec::<Box<Failure>>::new()));
    let live = || {
        while failures.lock().unwrap().is_empty() {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= SEEDS {
                break;
            }
            match simulate(seed, HOURS) {
                Ok(run) => *total.lock().unwrap() += run.summary,
                Err(failure) => failures.lock().unwrap().push(failure),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(live);
        }
    });
    if let Some(failure) = failures.into_inner().unwrap().first() {
        panic!("{failure}");
    }
    let total = total.into_inner().unwrap();
    println!("{SEEDS} seeds of {HOURS} hours: {total}");
    let Summary { requests, commits, restarts, .. } = total;
    let figure = format!(
        "{SEEDS} worlds of {HOURS} hours: {requests} requests, {commits} commits, {restarts} crashes; no promise broken"
    );
    proof::record("simulation", &figure);
    assert_eq!(
        idle_checks(&total),
        Vec::<&str>::new(),
        "these never happened, so nothing was checked by them"
    );
}

/// Checks that never applied in any world, but should have.
fn idle_checks(total: &Summary) -> Vec<&'static str> {
    let counts = [
        ("fenced writes", total.fenced_writes),
        ("crashes before a commit", total.crashes_before_commit),
        ("crashes after a commit", total.crashes_after_commit),
        ("crashes while idle", total.crashes_idle),
        ("unheard creates stored", total.unheard_done),
        ("unheard creates not stored", total.unheard_undone),
        ("repeats beside the first", total.repeats_beside),
        ("repeats of answered calls", total.repeats_of_answered),
        ("repeats of unheard calls", total.repeats_of_unheard),
        ("repeats of undone calls", total.repeats_undone),
        ("repeats of refused calls", total.repeats_of_refused),
        ("batch repeats", total.batch_repeats),
        ("keys reused", total.keys_reused),
        ("keys reused beside the first", total.keys_reused_beside),
        ("files", total.files),
        ("uploads interrupted", total.uploads_interrupted),
        ("uploads too late", total.uploads_late),
        ("batches of files", total.file_batches),
        ("batches of bad files", total.file_batches_failed),
        ("batches cancelled half filled", total.half_filled_cancelled),
        ("lines filled", total.lines_filled),
        ("fills interrupted", total.fills_interrupted),
        ("fills that waited for credits", total.fills_unpaid),
        ("files deleted while their batch was filled", total.files_deleted),
        ("requests deleted", total.requests_deleted),
        ("batches deleted", total.batches_deleted),
        ("unheard deletions done", total.unheard_deletions_done),
        ("unheard deletions not done", total.unheard_deletions_undone),
        ("restarts", total.restarts),
        ("cancels won", total.cancels_won),
        ("cancels lost", total.cancels_lost),
        ("batch cancels", total.batch_cancels),
        ("batches refused", total.batches_refused),
        ("creates refused", total.creates_refused),
        ("answers outrun", total.answers_outrun),
        ("attempts failed", total.attempts_failed),
        ("pauses", total.pauses),
        ("events delivered", total.events_delivered),
        ("events exhausted", total.events_exhausted),
        ("expiries", total.expired),
        ("clock jumps forward", total.jumps_forward),
        ("clock jumps back", total.jumps_back),
        ("requests released promptly after a jump", total.prompt),
        ("requests sent promptly after a jump", total.prompt_sent),
    ];
    counts.into_iter().filter(|(_, count)| *count == 0).map(|(what, _)| what).collect()
}

#[test]
fn a_seed_replays_to_the_last_event() {
    for seed in [0, 7, 11] {
        let once = simulate(seed, HOURS).unwrap();
        let again = simulate(seed, HOURS).unwrap();
        assert_eq!(once, again, "seed {seed}");
    }
}
