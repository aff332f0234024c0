//! Unusable answers in the operator's log.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use crate::transport::printable;

/// The interval of log lines.
const EVERY_MS: i64 = 60_000;

/// The logged bytes of an answer.
const LOGGED_BYTES: usize = 1 << 10;

/// Limits the rate of a log line, and counts suppressed lines.
pub(super) struct Throttle {
    next_at: AtomicI64,
    suppressed: AtomicU64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { next_at: AtomicI64::new(i64::MIN), suppressed: AtomicU64::new(0) }
    }
}

impl Throttle {
    /// Returns the number of suppressed lines if a line may be written now.
    pub(super) fn pass(&self, now: i64) -> Option<u64> {
        let next_at = self.next_at.load(Relaxed);
        // A clock that was set back does not silence the log for long.
        let is_due = now >= next_at || next_at > now.saturating_add(EVERY_MS);
        let next = now.saturating_add(EVERY_MS);
        if is_due && self.next_at.compare_exchange(next_at, next, Relaxed, Relaxed).is_ok() {
            return Some(self.suppressed.swap(0, Relaxed));
        }
        self.suppressed.fetch_add(1, Relaxed);
        None
    }
}

/// The beginning of an answer, fit for a line of the log.
pub(super) fn beginning_of(answer: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&answer[..answer.len().min(LOGGED_BYTES)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_passes_and_tells_how_many_did_not() {
        let throttle = Throttle::default();
        let passed = [0, 1, 59_999, 60_000, 60_001, 200_000, -1].map(|now| throttle.pass(now));
        assert_eq!(passed, [Some(0), None, None, Some(2), None, Some(1), Some(0)]);
    }

    #[test]
    fn the_beginning_of_an_answer_is_one_line_of_a_kibibyte() {
        assert_eq!(beginning_of(b"a\n\xff\0"), "a\\n\u{fffd}\\u{0}");
        assert_eq!(beginning_of(&[b'a'; 5_000]).len(), 1_024);
    }
}
