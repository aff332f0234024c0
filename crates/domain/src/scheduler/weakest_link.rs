//! Where neighbours in the order share least.

use super::messages::Candidate;

/// Where to cut a segment in two: the place in `rest`, its waiting requests in order, with which the second part begins. About half of the
/// cost is before it, and its neighbours share the shortest prefix. If `rest` is not all that waits, it is in the second half of it. `None`
/// for fewer than two.
pub fn weakest_link(rest: &[Candidate], is_all: bool) -> Option<usize> {
    let total = rest.iter().fold(0_i64, |sum, it| sum.saturating_add(it.cost.max(1)));
    let (least, middle, most) =
        if is_all { (total / 4, total / 2, total - total / 4) } else { (total / 2, total, total) };
    let mut before = 0_i64;
    let places = rest.windows(2).enumerate().map(|(index, pair)| {
        before = before.saturating_add(pair[0].cost.max(1));
        let is_outside = before < least || before > most;
        let shared = pair[0].position.sort_key.shared_cuts(&pair[1].position.sort_key);
        ((is_outside, shared, before.abs_diff(middle)), index + 1)
    });
    places.min().map(|(_, place)| place)
}
