//! Formats times and durations for people.

use std::time::{Duration, SystemTime};

use overnight_base::clock::{Clock, SystemClock};

/// The last second of the year 9999, the last that RFC 3339 can write.
const LATEST: u64 = 253_402_300_799;

/// A time in Unix seconds as UTC, such as `2026-11-20T21:14:03Z`. Times before 1970 or after 9999 are written as the nearest one between.
pub(crate) fn utc(seconds: i64) -> String {
    let since = Duration::from_secs(u64::try_from(seconds).unwrap_or(0).min(LATEST));
    humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since).to_string()
}

/// Whole seconds, as for all times in JSON.
pub(crate) const fn seconds(ms: i64) -> i64 {
    ms.div_euclid(1_000)
}

/// Like [`utc`], or a dash if there is no time.
pub(crate) fn utc_or_dash(seconds: Option<i64>) -> String {
    seconds.map_or_else(|| "-".to_owned(), utc)
}

/// The time of day in UTC, such as `21:14:03Z`.
pub(crate) fn of_day(seconds: i64) -> String {
    utc(seconds).split_off(11)
}

/// Milliseconds as whole seconds, such as `2m 5s`.
pub(crate) fn duration(ms: i64) -> String {
    let seconds = u64::try_from(ms / 1_000).unwrap_or(0);
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}

/// The current Unix time in milliseconds.
pub(crate) fn now() -> i64 {
    SystemClock.now()
}

pub(crate) async fn pause(ms: i64) {
    SystemClock.sleep_until(now().saturating_add(ms)).await;
}

/// A day since 1970, such as `2026-11-20`.
pub(crate) fn day(day: i64) -> String {
    let mut text = utc(day.saturating_mul(86_400));
    text.truncate(10);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_a_time() {
        assert_eq!(utc(1_795_209_243), "2026-11-20T21:14:03Z");
        for (number, text) in [(i64::MIN, "1970-01-01T00:00:00Z"), (i64::MAX, "9999-12-31T23:59:59Z")] {
            assert_eq!(utc(number), text);
            assert_eq!(utc_or_dash(Some(number)), text);
            assert_eq!(of_day(number), &text[11..]);
            assert_eq!(day(number), &text[..10]);
            assert_eq!(utc(seconds(number)).len(), text.len());
        }
        assert_eq!(duration(i64::MIN), "0s");
        assert!(duration(i64::MAX).contains("year"));
    }
}
