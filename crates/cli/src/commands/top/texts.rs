//! Formats figures, times and names for cells.

use overnight_domain::text::misleads;

use crate::times;

/// Removes characters that mislead from texts that others chose.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|character| if misleads(character) { ' ' } else { character }).collect()
}

/// A number with thousands separators, such as `12,345`.
pub(super) fn count(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

/// Nano-credits as credits to the hundredth.
pub(super) fn credits(nano: i64) -> String {
    let hundredths = nano / 10_000_000;
    format!("{}.{:02}", count(hundredths / 100), hundredths.rem_euclid(100))
}

/// A duration in at most two units, such as `3h 12m`.
pub(super) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m"),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

/// A time of day to the minute, such as `21:14Z`.
pub(super) fn minute(ms: i64) -> String {
    let mut text = times::of_day(ms / 1_000);
    text.truncate(5);
    text + "Z"
}

/// A future time, seen from `now`, such as `21:14Z (in 3h 12m)`.
pub(super) fn ahead(at: i64, now: i64) -> String {
    if at <= now {
        format!("{} (past)", minute(at))
    } else {
        format!("{} (in {})", minute(at), span(at - now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_a_cursor_or_turns_text_around_is_taken_out() {
        assert_eq!(clean("a\x1b[2Jb\r\nc\u{9b}1m\u{202e}d"), "a [2Jb  c 1m d");
        assert_eq!(clean("été 夜"), "été 夜");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567, -1_000].map(count),
            ["0", "999", "1,000", "1,234,567", "-1,000"]
        );
        assert_eq!(
            [0, 12_340_000_000, 1_234_567_000_000_000].map(credits),
            ["0.00", "12.34", "1,234,567.00"]
        );
        assert_eq!(
            [0, 59_999, 60_000, 11_520_000, 90_000_000].map(span),
            ["0s", "59s", "1m", "3h 12m", "1d 1h"]
        );
        assert_eq!(ahead(3_600_000, 0), "01:00Z (in 1h 0m)");
        assert_eq!(ahead(0, 1), "00:00Z (past)");
    }
}
