//! Memory of requests that failed without a counted attempt, or that broke connections.

use std::collections::BTreeMap;

/// Requests remembered at most. The oldest are forgotten first and begin anew.
const REQUESTS_MAX: usize = 8_192;

/// Failures of one request that its count of attempts does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct History {
    pub(super) uncounted: u32,
    /// Times that it broke its connection, or an engine, while it had the replica to itself.
    pub(super) breakages: u32,
    /// Counted attempts that broke nothing.
    pub(super) harmless: u32,
}

#[derive(Debug, Default)]
pub(super) struct Histories(BTreeMap<i64, History>);

impl Histories {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn get(&self, seq: i64) -> History {
        self.0.get(&seq).copied().unwrap_or_default()
    }

    pub(super) fn note(&mut self, seq: i64, note: impl FnOnce(&mut History)) -> History {
        let history = self.0.entry(seq).or_default();
        note(history);
        let noted = *history;
        if self.0.len() > REQUESTS_MAX {
            self.0.pop_first();
        }
        noted
    }

    pub(super) fn forget(&mut self, seq: i64) {
        self.0.remove(&seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_requests_are_forgotten_first() {
        let mut histories = Histories::new();
        let most = i64::try_from(REQUESTS_MAX).unwrap();
        for seq in 0..=most {
            histories.note(seq, |it| it.uncounted += 1);
        }
        assert_eq!(
            histories.note(most, |it| it.breakages += 1),
            History { uncounted: 1, breakages: 1, ..History::default() }
        );
        assert_eq!((histories.get(0), histories.get(1).uncounted), (History::default(), 1));
        histories.forget(1);
        assert_eq!(histories.get(1), History::default());
    }
}
