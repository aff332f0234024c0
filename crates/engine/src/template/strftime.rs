//! Dates for templates, in UTC.

use jiff::Timestamp;
use jiff::fmt::strtime::{BrokenDownTime, Config};
use jiff::tz::TimeZone;

/// Formats seconds since 1970 with C's conversions; unknown ones stay unchanged.
pub(super) fn format(seconds: u64, format: &str) -> String {
    let at = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let date = BrokenDownTime::from(&at.unwrap_or_default().to_zoned(TimeZone::UTC));
    date.to_string_with_config(&Config::new().lenient(true), format).unwrap_or_else(|_| format.to_owned())
}

#[cfg(test)]
mod tests {
    use super::format;

    #[test]
    fn dates_are_formatted_as_in_c() {
        let leap_day = 951_827_696; // 2000-02-29 12:34:56 UTC, a Tuesday
        assert_eq!(format(leap_day, "%d %B %Y"), "29 February 2000");
        assert_eq!(
            format(leap_day, "%a %A %b %y %F %T %I %p %%"),
            "Tue Tuesday Feb 00 2000-02-29 12:34:56 12 PM %"
        );
        assert_eq!(format(0, "%-d.%-m. %H:%M:%S %A"), "1.1. 00:00:00 Thursday");
        assert_eq!(format(1_767_225_599, "%Y-%m-%d %I %p"), "2025-12-31 11 PM");
        assert_eq!(format(0, "%+ and %"), "%+ and %");
    }
}
