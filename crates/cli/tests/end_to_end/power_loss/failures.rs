//! Failing calls: a sync with an error, a write without space or cut short, a file that cannot be opened.

use super::chance::Chance;
use super::shim::FailingCall;
use super::{checking, count, facts, load};
use overnight_testkit::proof;

/// `EIO`, `EINVAL`, `EMFILE` and `ENOSPC` of Linux.
const IO_ERROR: i32 = 5;
const INVALID: i32 = 22;
const TOO_MANY_FILES: i32 = 24;
const NO_SPACE: i32 = 28;

/// The failing call, its error, and about how many such calls a run makes.
const KINDS: [(&str, i32, usize); 4] =
    [("sync", IO_ERROR, 200), ("write", NO_SPACE, 4_000), ("write", 0, 4_000), ("open", TOO_MANY_FILES, 40)];

/// States of the disk that are opened after each run.
const STATES: u64 = 3;

/// Numbers of failing calls up to `last`: half of them are the first ones, which a start makes, the others are spread evenly.
fn numbers(wanted: usize, last: usize) -> impl Iterator<Item = usize> {
    let first = wanted.min(last).div_ceil(2);
    let (others, rest) = (wanted.min(last) - first, last - first);
    (1..=first).chain((0..others).map(move |place| first + 1 + place * rest / others))
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

/// CIFS and some file systems of FUSE answer the sync of a folder with `EINVAL`. The first sync is the folder's.
#[test]
fn a_start_whose_folder_cannot_be_synced_ends_unless_the_file_system_has_no_such_sync() {
    for (error, serves) in [(IO_ERROR, false), (INVALID, true)] {
        let run = load::recorded(Some(FailingCall { call: "sync", number: 1, error }));
        assert_eq!(
            !facts::told_before(&run, run.records.len()).is_empty(),
            serves,
            "sync fails with {error}"
        );
    }
}
