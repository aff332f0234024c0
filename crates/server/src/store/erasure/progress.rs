//! How far deletions have been carried through to the files, for who carries them and who asks.

use std::sync::{Mutex, PoisonError};

/// What is known of it in this process.
#[derive(Debug)]
pub(in crate::store) struct Progress(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// How many deletions of this process were carried through; `None` where others wait, or may.
    erased: Option<u64>,
    /// When nothing waited last, or the store was opened, in milliseconds.
    clean_at: i64,
}

impl Progress {
    /// Nothing is known yet: a process before this one may have left something.
    pub(in crate::store) const fn unknown() -> Self {
        Self(Mutex::new(Known { erased: None, clean_at: i64::MIN }))
    }

    /// All that was deleted by `at` is in no file, among it so many deletions of this process.
    pub(super) fn note_erased(&self, deletions: u64, at: i64) {
        *self.known() = Known { erased: Some(deletions), clean_at: at };
    }

    /// Something waits.
    pub(super) fn note_waiting(&self) {
        self.known().erased = None;
    }

    /// For how long something has been waiting at most, in milliseconds, where this process has committed so many deletions; 0 where
    /// nothing is.
    pub(in crate::store) fn waited_ms(&self, deletions: u64, now: i64) -> i64 {
        let mut known = self.known();
        let has_deleted = known.erased != Some(deletions);
        if !has_deleted || known.clean_at == i64::MIN {
            known.clean_at = now;
        }
        if has_deleted { now.saturating_sub(known.clean_at).max(1) } else { 0 }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_told_at_once_and_since_when_nothing_did() {
        let progress = Progress::unknown();
        assert_eq!(progress.waited_ms(0, 1_000), 1, "what was before is not known");
        assert_eq!(progress.waited_ms(0, 3_000), 2_000);
        progress.note_erased(0, 4_000);
        assert_eq!(progress.waited_ms(0, 9_000), 0);
        assert_eq!(progress.waited_ms(1, 9_000), 1, "it is there in the same millisecond");
        assert_eq!(progress.waited_ms(1, 12_000), 3_000);
        progress.note_erased(1, 10_000);
        assert_eq!(progress.waited_ms(2, 12_000), 2_000, "one came while the first was carried through");
        progress.note_erased(2, 13_000);
        progress.note_waiting();
        assert_eq!(progress.waited_ms(2, 15_000), 2_000, "another process deleted");
    }
}
