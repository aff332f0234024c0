//! The state after a loss of power: all synced changes, and a random, torn, reordered part of the others.
//!
//! A preloaded library logs every write, truncation, sync, rename and removal of the program's files, and its output
//! (`tests/power_loss/shim.c`). From the log, states of the disk are rebuilt as a crash could leave them at any time. The program opens
//! each of them, and every fact that it reported before that time must be there.
//!
//! `OVERNIGHT_CRASH_STATES` sets how many states are rebuilt, and `OVERNIGHT_FAILED_CALLS` how many calls of each kind fail.
//!
//! Sources of the idea: T. S. Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014; A. Rebello et al., "Can Applications
//! Recover from fsync Failures?", USENIX ATC 2020.

mod chance;
mod checking;
mod disk;
mod facts;
mod failures;
mod load;
mod recorded;
mod shim;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use overnight_testkit::proof;

use self::chance::Chance;
use self::recorded::{Record, Recorded};

fn count(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn what_was_told_is_on_the_disk_whenever_the_power_is_lost() {
    let states = count("OVERNIGHT_CRASH_STATES", 60);
    let run = load::recorded(None);
    let told = facts::told_before(&run, run.records.len());
    assert!(told.len() > 100, "only {} facts were told", told.len());
    let looked_up = check_states(&run, states);
    assert!(looked_up > 0, "nothing had been told in any state");
    let figure = format!(
        "{states} states of the disk rebuilt from {} logged calls; {} facts that had been told looked up, none missing; every audit clean",
        run.records.len(),
        looked_up
    );
    eprintln!("{figure}");
    proof::record("power-loss", &figure);
}

/// The checks can fail: a disk that ignores syncs has lost something in most states.
#[test]
fn a_disk_that_lies_about_its_syncs_is_found_out() {
    const STATES: usize = 10;
    let mut run = load::recorded(None);
    run.records.iter_mut().for_each(Record::forget_sync);
    let is_lost = |number: usize| {
        let at = run.records.len() - number;
        let check =
            std::panic::AssertUnwindSafe(|| checking::check(&run, at, &mut Chance::new(number as u64)));
        std::panic::catch_unwind(check).is_err()
    };
    let lost = (0..STATES).filter(|number| is_lost(*number)).count();
    assert!(lost > STATES / 2, "{lost} of {STATES} states had lost something");
}

/// Rebuilds and opens states of a run, spread evenly with a jitter, some of them at its very end; returns the number of checked facts.
fn check_states(run: &Recorded, states: usize) -> usize {
    let (next, total) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= states {
                return;
            }
            let mut chance = Chance::new(number as u64);
            let stride = run.records.len() / states + 1;
            let at = (number * stride + chance.below(stride)).min(run.records.len());
            total.fetch_add(checking::check(run, at, &mut chance), Ordering::Relaxed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner()
}
