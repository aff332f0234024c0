//! Remembers received events.

use std::collections::{HashSet, VecDeque};

const IDS_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub(super) struct Seen {
    ids: HashSet<String>,
    /// The same, oldest first.
    order: VecDeque<String>,
}

impl Seen {
    /// Remembers an identifier; true if it is new.
    pub(super) fn insert(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > IDS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered_and_no_more() {
        let mut seen = Seen::default();
        for number in 0..=IDS_MAX {
            assert!(seen.insert(&number.to_string()));
        }
        assert!(!seen.insert("1") && !seen.insert(&IDS_MAX.to_string()));
        assert!(seen.insert("0"), "the oldest is forgotten");
        assert_eq!((seen.ids.len(), seen.order.len()), (IDS_MAX, IDS_MAX));
    }
}
