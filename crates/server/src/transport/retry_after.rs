//! The `Retry-After` header: seconds, or a date.

use std::time::UNIX_EPOCH;

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;

/// Nobody is waited for longer than this, whatever they ask: the completion window.
const WAIT_MS_MAX: i64 = 24 * 60 * 60 * 1000;

/// How long the other side asks to be left alone, in milliseconds from `now`: 0 to a day.
pub(crate) fn read(headers: &HeaderMap, now: i64) -> Option<i64> {
    parse(headers.get(RETRY_AFTER)?.to_str().ok()?.trim(), now)
}

fn parse(text: &str, now: i64) -> Option<i64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(i64::MAX);
        return Some(seconds.saturating_mul(1_000).min(WAIT_MS_MAX));
    }
    let since = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    Some(at.saturating_sub(now).clamp(0, WAIT_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_read() {
        let noon = 784_111_777_000; // 1994-11-06T08:49:37Z
        for (text, now, expected) in [
            ("0", noon, Some(0)),
            ("7", noon, Some(7_000)),
            ("99999999999999999999", noon, Some(WAIT_MS_MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", noon - 5_000, Some(5_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", noon + 5_000, Some(0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", noon, Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", noon, Some(WAIT_MS_MAX)),
            ("", noon, None),
            ("-1", noon, None),
            ("1.5", noon, None),
            ("soon", noon, None),
        ] {
            assert_eq!(parse(text, now), expected, "{text}");
        }
    }
}
