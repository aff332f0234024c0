//! One try to deliver a webhook, as a black box: the addresses that it calls and, above all, those that it does not.

mod answers;
mod certificates;
mod delivered;
mod deliverer;
mod http2;
mod literals;
mod names;
mod own_addresses;
mod processes;
mod rebinding;
mod redirects;
mod support;
mod time;

/// Minimum number of tested ways to a forbidden address.
const CASES_MIN: usize = 150;

#[test]
fn forbidden_addresses_are_tried_in_many_ways() {
    let count = literals::count() + names::cases().count() + redirects::cases(0).len();
    assert!(count >= CASES_MIN, "{count}");
}
