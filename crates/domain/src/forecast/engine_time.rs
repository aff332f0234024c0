//! When engines will have had slots for long enough.

use std::collections::BTreeSet;

/// An engine's concurrent requests and its hours.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineTime {
    /// Its slots.
    pub slots: f64,
    /// When it is open, in milliseconds, from and to: in order, and as far ahead as is known.
    pub open: Vec<(i64, i64)>,
}

/// When slots of the engines will have been taken for `slot_ms` together from a time on, in milliseconds; `None` beyond their known hours.
pub(super) fn done_at(engines: &[EngineTime], from: i64, slot_ms: f64) -> Option<i64> {
    let changes = engines.iter().flat_map(|engine| &engine.open).flat_map(|(open, close)| [*open, *close]);
    let changes: BTreeSet<i64> = changes.filter(|at| *at > from).collect();
    let (mut now, mut left) = (from, slot_ms.max(0.0));
    for change in changes {
        let is_open =
            |engine: &&EngineTime| engine.open.iter().any(|(open, close)| (*open..*close).contains(&now));
        let slots: f64 = engines.iter().filter(is_open).map(|engine| engine.slots).sum();
        let done = slots * (change - now) as f64;
        if slots > 0.0 && done >= left {
            #[expect(clippy::cast_possible_truncation, reason = "it is less than the stretch")]
            return Some(now.saturating_add((left / slots).ceil() as i64));
        }
        left -= done;
        now = change;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_work_together_while_they_are_open() {
        let always = EngineTime { slots: 1.0, open: vec![(0, 1_000)] };
        let night = EngineTime { slots: 3.0, open: vec![(-50, 10), (100, 200)] };
        let both = [always, night.clone()];
        for (from, work, expected) in [
            (0, 0.0, Some(0)),
            (0, 40.0, Some(10)),
            (0, 41.0, Some(11)),
            (0, 130.0, Some(100)),
            (0, 134.0, Some(101)),
            (0, 531.0, Some(201)),
            (0, 1_331.0, None),
            (150, 4.0, Some(151)),
            (990, 10.0, Some(1_000)),
            (990, 11.0, None),
            (2_000, 1.0, None),
        ] {
            assert_eq!(done_at(&both, from, work), expected, "{from} {work}");
        }
        assert_eq!(done_at(&[night], 20, 3.0), Some(101), "nothing is done before it opens");
        assert_eq!(done_at(&[], 0, 1.0), None);
    }
}
