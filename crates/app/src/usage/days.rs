//! Days as the API and the command line spell them.

use jiff::civil::Date;
use jiff::{Span, Unit};

const FIRST: Date = Date::constant(1970, 1, 1);

/// A day since 1970, as `2026-11-27`.
pub(super) fn spell_day(day: i64) -> String {
    let date = Span::new().try_days(day).and_then(|days| FIRST.checked_add(days));
    date.map_or_else(|_| day.to_string(), |date| date.to_string())
}

/// The day since 1970 of a text like `2026-11-27`; negative before 1970.
pub fn read_day(text: &str) -> Option<i64> {
    let date: Date = text.parse().ok().filter(|date: &Date| date.to_string() == text)?;
    Some(i64::from(FIRST.until((Unit::Day, date)).ok()?.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_as_they_are_spelled_and_nothing_else_is() {
        for day in [-719_162, -1, 0, 1, 59, 20_784, 47_541, 2_932_896] {
            assert_eq!(read_day(&spell_day(day)), Some(day));
        }
        assert_eq!(spell_day(20_784), "2026-11-27");
        let wrong = ["", "2026-11-31", "2026-11-1", "20261127", "2026-11-27T00:00", " 2026-11-27", "0"];
        assert_eq!(wrong.map(read_day), [None; 7]);
    }
}
