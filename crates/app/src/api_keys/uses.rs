//! Uses of keys that are not stored yet. A key is read from the store at most twice a second, and that read returns the stored time of its
//! last use. So each key is written about once a minute, however many processes use it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The stored time is renewed once it is this old, in milliseconds.
const STALE_MS: i64 = 60_000;

/// The maximum number of noted keys; until these are stored, uses of others are dropped.
const KEYS_MAX: usize = 16_384;

/// The latest use by the key's row number.
#[derive(Debug, Default)]
pub(super) struct Uses(Mutex<HashMap<i64, i64>>);

impl Uses {
    /// Notes a use at `now`; `last_used_at` is the stored time.
    pub(super) fn note(&self, key: i64, last_used_at: Option<i64>, now: i64) {
        if last_used_at.is_some_and(|known| now < known.saturating_add(STALE_MS)) {
            return;
        }
        let mut noted = self.noted();
        if noted.len() < KEYS_MAX || noted.contains_key(&key) {
            noted.insert(key, now);
        }
    }

    /// Removes and returns all uses.
    pub(super) fn take(&self) -> Vec<(i64, i64)> {
        self.noted().drain().collect()
    }

    /// Returns uses that could not be stored.
    pub(super) fn put_back(&self, uses: Vec<(i64, i64)>) {
        let mut noted = self.noted();
        for (key, used_at) in uses {
            noted.entry(key).or_insert(used_at);
        }
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<i64, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: i64 = 1;

    #[test]
    fn a_key_is_noted_when_the_store_has_not_heard_of_it_for_a_minute() {
        for (known, now, is_noted) in
            [(None, 0, true), (Some(0), STALE_MS - 1, false), (Some(0), STALE_MS, true), (Some(9), 0, false)]
        {
            let uses = Uses::default();
            uses.note(KEY, known, now);
            assert_eq!(uses.take(), Vec::from_iter(is_noted.then_some((KEY, now))), "{known:?} {now}");
        }
    }

    #[test]
    fn the_latest_use_counts_though_an_earlier_one_could_not_be_stored() {
        let uses = Uses::default();
        uses.note(KEY, None, 1);
        let taken = uses.take();
        uses.note(KEY, None, 2);
        uses.put_back(taken);
        assert_eq!(uses.take(), [(KEY, 2)]);
        uses.put_back(vec![(KEY, 2)]);
        assert_eq!(uses.take(), [(KEY, 2)]);
    }

    #[test]
    fn no_more_than_the_bound_are_noted() {
        let uses = Uses::default();
        for key in 0..=KEYS_MAX as i64 {
            uses.note(key, None, 1);
        }
        assert_eq!(uses.take().len(), KEYS_MAX);
    }
}
