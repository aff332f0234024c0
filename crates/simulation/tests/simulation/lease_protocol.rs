//! The lease protocol in every order of events.

use overnight_simulation::lease_protocol::{Action, End, Explored, Guards, explore};
use overnight_testkit::proof;

#[test]
fn two_nodes_settle_a_request_once_in_every_order_of_their_writes() {
    let [one, two] =
        [(1, 6), (2, 3)].map(|(requests, leases)| explore(Guards::ALL, requests, leases).unwrap());
    for Explored { states, .. } in [one, two] {
        assert!(states > 1_000, "{states} states are not all");
    }
    let (states, steps) = (one.states + two.states, one.steps + two.steps);
    println!("{one:?}, {two:?}");
    proof::record(
        "lease-model",
        &format!("{states} states and {steps} steps between them, all of those that there are"),
    );
}

#[test]
fn without_its_epoch_a_late_answer_settles_under_a_lease_that_is_over() {
    let found = explore(Guards { epoch: false, ..Guards::ALL }, 1, 3).unwrap_err();
    assert_eq!(found.broken, "a write under a lease that is over was done");
    let (node, request) = (0, 0);
    let lease = Action::Lease { node, request };
    let release = Action::Release { node, request, epoch: 1 };
    let late = Action::Answer { node, request, epoch: 1, end: End::Completed };
    assert_eq!(found.path, [lease, release, lease, late]);
}

#[test]
fn each_other_guard_is_needed_or_is_said_not_to_be() {
    let without = |guards| explore(guards, 1, 3).map_err(|found| found.broken);
    let marked = without(Guards { mark: false, ..Guards::ALL });
    assert_eq!(marked, Err("a request of a cancelled batch was leased or settled"));
    let removed = without(Guards { row: false, ..Guards::ALL });
    assert_eq!(removed, Err("a lease has a holder that no peer would reclaim it from"));
    assert!(without(Guards { node: false, ..Guards::ALL }).is_ok(), "an epoch names one lease of one node");
}
