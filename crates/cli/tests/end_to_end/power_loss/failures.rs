//! Calls that fail: a sync that the disk refuses, a write for which there is no room or that is cut short, a file that cannot be
//! opened.

use super::chance::Chance;
use super::shim::FailingCall;
use super::{checking, count, facts, load};
use overnight_testkit::proof;

/// `EIO`, `EMFILE` and `ENOSPC` of Linux.
const IO_ERROR: i32 = 5;
const TOO_MANY_FILES: i32 = 24;
const NO_SPACE: i32 = 28;

/// What fails and how, and about how many such calls a run makes.
const KINDS: [(&str, i32, usize); 4] =
    [("sync", IO_ERROR, 200), ("write", NO_SPACE, 4_000), ("write", 0, 4_000), ("open", TOO_MANY_FILES, 40)];

/// States of the disk that are opened after each run.
const STATES: u64 = 3;

/// So many of the first `last` calls, spread evenly.
fn numbers(wanted: usize, last: usize) -> impl Iterator<Item = usize> {
    let wanted = wanted.min(last);
    (0..wanted).map(move |place| 1 + place * last / wanted)
}

#[test]
fn what_was_told_is_on_the_disk_whichever_call_fails_before() {
    let wanted = count("OVERNIGHT_FAILED_CALLS", 4);
    let (mut told, mut runs) = (0, 0);
    for (call, error, last) in KINDS {
        for number in numbers(wanted, last) {
            let run = load::recorded(Some(FailingCall { call, number, error }));
            let at = run.records.len();
            eprintln!("{call} {number} fails with {error}: {} facts", facts::told_before(&run, at).len());
            for state in 0..STATES {
                told += checking::check(&run, at, &mut Chance::new(number as u64 + state));
            }
            runs += 1;
        }
    }
    assert!(told > 0, "nothing was told in any run");
    let figure = format!(
        "{runs} runs in which a sync, a write (no space; half written) or an open fails, {STATES} states of the disk after each; {told} facts that had been told looked up, none missing; every audit clean"
    );
    eprintln!("{figure}");
    proof::record("failed-calls", &figure);
}
