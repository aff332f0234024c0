//! How fast an account's requests ended a moment ago, and when the rest will have at that pace.

use crate::requests::COMPLETION_WINDOW_MS;

/// The span over which what ended is added up, in milliseconds: a quarter of an hour.
pub const QUARTER_MS: i64 = 15 * MINUTE_MS;

const MINUTE_MS: i64 = 60_000;

/// Quarters of an hour since 1970 at `now`, in milliseconds.
pub const fn quarter_of(now: i64) -> i64 {
    now.div_euclid(QUARTER_MS)
}

/// What ended of an account's requests in one quarter of an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActivityRecord {
    /// Which: quarters of an hour since 1970.
    pub quarter: i64,
    /// How many completed.
    pub completed: i64,
    /// How many failed, those among them that outlived their deadline.
    pub failed: i64,
    /// How many their client cancelled.
    pub cancelled: i64,
    /// Tokens that those that completed read.
    pub prompt_tokens: i64,
    /// Tokens that they wrote.
    pub completion_tokens: i64,
    /// What was charged for them, in nano-credits.
    pub amount: i64,
}

impl ActivityRecord {
    /// How many were worked through to an end. A cancel is nobody's work.
    const fn worked(&self) -> i64 {
        self.completed.saturating_add(self.failed)
    }
}

/// How many requests completed or failed a minute in the quarter of an hour of `now`, in milliseconds, and the one before:
/// 15 to 30 minutes, or what has passed of this quarter where nothing ended in the one before. `None` where nothing ended in
/// either.
pub fn pace(records: &[ActivityRecord], now: i64) -> Option<f64> {
    let quarter = quarter_of(now);
    let worked = |wanted| -> i64 {
        records.iter().filter(|record| record.quarter == wanted).map(ActivityRecord::worked).sum()
    };
    let (before, running) = (worked(quarter - 1), worked(quarter));
    if before + running == 0 {
        return None;
    }
    // A first end in the first second says little of a minute.
    let passed_ms = now.rem_euclid(QUARTER_MS).max(MINUTE_MS);
    let span_ms = if before > 0 { passed_ms + QUARTER_MS } else { passed_ms };
    Some((before + running) as f64 * MINUTE_MS as f64 / span_ms as f64)
}

/// When `live` requests will have ended, in milliseconds, where `pace` end a minute from `now` on; a day later at the
/// latest, which none outlives. `None` where nothing lives or nothing ends.
#[expect(clippy::cast_possible_truncation, reason = "it is less than a day")]
pub fn done_by(live: i64, pace: f64, now: i64) -> Option<i64> {
    if live <= 0 || pace.is_nan() || pace <= 0.0 {
        return None;
    }
    let left_ms = live as f64 / pace * MINUTE_MS as f64;
    Some(now.saturating_add(left_ms.ceil().min(COMPLETION_WINDOW_MS as f64) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: i64 = 1_944_444;
    const START: i64 = QUARTER * QUARTER_MS;

    #[test]
    fn the_pace_is_that_of_this_quarter_and_the_one_before() {
        let check = |worked: &[(i64, i64)], minutes: i64, expected: Option<f64>| {
            let record = |(quarter, worked): &(i64, i64)| ActivityRecord {
                quarter: *quarter,
                completed: *worked,
                ..ActivityRecord::default()
            };
            let records: Vec<_> = worked.iter().map(record).collect();
            assert_eq!(pace(&records, START + minutes * MINUTE_MS), expected, "{worked:?} {minutes}");
        };
        check(&[], 5, None);
        check(&[(QUARTER - 2, 900)], 5, None);
        check(&[(QUARTER + 1, 900)], 5, None);
        check(&[(QUARTER - 1, 160)], 1, Some(10.0));
        check(&[(QUARTER - 2, 900), (QUARTER - 1, 150), (QUARTER, 50)], 5, Some(10.0));
        check(&[(QUARTER, 50)], 5, Some(10.0));
        check(&[(QUARTER, 50)], 0, Some(50.0));
        check(&[(QUARTER - 1, 0), (QUARTER, 30)], 10, Some(3.0));
    }

    #[test]
    fn what_failed_was_worked_through_and_what_was_cancelled_was_not() {
        let record = ActivityRecord {
            quarter: QUARTER,
            completed: 3,
            failed: 2,
            cancelled: 90_000,
            ..ActivityRecord::default()
        };
        assert_eq!(pace(&[record], START + MINUTE_MS), Some(5.0));
        assert_eq!(pace(&[ActivityRecord { completed: 0, failed: 0, ..record }], START + MINUTE_MS), None);
    }

    #[test]
    fn what_lives_is_done_at_the_pace_or_within_a_day() {
        for (live, pace, expected) in [
            (0, 10.0, None),
            (-1, 10.0, None),
            (5, 0.0, None),
            (5, -1.0, None),
            (5, f64::NAN, None),
            (10, 10.0, Some(MINUTE_MS)),
            (1, 7.0, Some(8_572)),
            (600, 10.0, Some(60 * MINUTE_MS)),
            (i64::MAX, 0.001, Some(COMPLETION_WINDOW_MS)),
        ] {
            assert_eq!(done_by(live, pace, START), expected.map(|left| START + left), "{live} {pace}");
        }
    }

    #[test]
    fn quarters_are_counted_from_1970() {
        for (now, quarter) in [(0, 0), (QUARTER_MS - 1, 0), (QUARTER_MS, 1), (-1, -1), (START, QUARTER)] {
            assert_eq!(quarter_of(now), quarter, "{now}");
        }
    }
}
