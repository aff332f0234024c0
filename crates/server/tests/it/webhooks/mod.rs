//! One try to deliver a webhook, as a black box: what it calls, and above all what it does not.

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

/// How many ways to an address that must not be called are tried, at least.
const CASES_MIN: usize = 150;

#[test]
fn forbidden_addresses_are_tried_in_many_ways() {
    let count = literals::count() + names::CASES.len() + redirects::cases(0).len();
    assert!(count >= CASES_MIN, "{count}");
}
