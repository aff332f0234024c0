//! Waits that the other side asks for: `Retry-After`, headers of vendors, and times in the text of an error.

use std::time::UNIX_EPOCH;

use hyper::HeaderMap;
use hyper::header::RETRY_AFTER;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The completion window: no wait is longer.
const WAIT_MS_MAX: i64 = 24 * 60 * 60 * 1000;

/// Milliseconds, used by OpenAI and Azure.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// Suffixes of the headers with the remaining requests or tokens of a limit, and with the time of its reset.
const LIMITS: [&str; 3] = ["", "-requests", "-tokens"];

/// Larger numbers are times since 1970, in seconds (from 2001 on) or in milliseconds.
const EPOCH_SECONDS_MIN: f64 = 1e9;
const EPOCH_MILLISECONDS_MIN: f64 = 1e12;

/// Words before a time in the text of an error, in lower case and without punctuation. Gemini has `retryDelay`; OpenRouter has headers in
/// its body.
const TOLD: [&str; 8] = [
    "try again in",
    "retry in",
    "retry after",
    "retryafter",
    "retrydelay",
    "reset after",
    "resets in",
    "x ratelimit reset",
];

/// Bytes of an error that are searched for times.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Bytes of the longest time in a text.
const TIME_BYTES_MAX: usize = 64;

/// In milliseconds.
const UNITS: [(&str, f64); 16] = [
    ("seconds", 1_000.0),
    ("second", 1_000.0),
    ("sec", 1_000.0),
    ("minutes", 60_000.0),
    ("minute", 60_000.0),
    ("hours", 3_600_000.0),
    ("hour", 3_600_000.0),
    ("days", 86_400_000.0),
    ("ms", 1.0),
    ("us", 0.001),
    ("µs", 0.001),
    ("ns", 0.000_001),
    ("s", 1_000.0),
    ("m", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// The wait in `retry-after-ms`, else in `Retry-After`, in milliseconds from `now`: 0 to a day, rounded up.
pub fn read(headers: &HeaderMap, now: i64) -> Option<i64> {
    let milliseconds = text_of(headers, RETRY_AFTER_MS).and_then(parse_number);
    let milliseconds = milliseconds.filter(|it| *it >= 0.0).map(to_wait);
    milliseconds.or_else(|| parse(text_of(headers, RETRY_AFTER.as_str())?, now))
}

/// The wait of an answer. Without these headers, a 429 or 503 waits for the longest of the vendor's resets, else for the longest time in
/// its body.
pub fn read_answer(headers: &HeaderMap, status: u16, body: &[u8], now: i64) -> Option<i64> {
    let asked = read(headers, now);
    if asked.is_some() || !matches!(status, 429 | 503) {
        return asked;
    }
    let text = || String::from_utf8_lossy(&body[..body.len().min(TEXT_BYTES_MAX)]);
    read_resets(headers, now).or_else(|| read_text(&text(), now))
}

/// The longest of the vendor's resets: `x-ratelimit-reset`, also with `-requests` and `-tokens`. If `x-ratelimit-remaining` headers are
/// present, only the limits with 0 remaining count.
fn read_resets(headers: &HeaderMap, now: i64) -> Option<i64> {
    let remaining = LIMITS.map(|limit| text_of(headers, &format!("x-ratelimit-remaining{limit}")));
    let tells_rest = remaining.iter().any(Option::is_some);
    let is_reached = |rest: Option<&str>| rest.and_then(parse_number).is_some_and(|rest| rest <= 0.0);
    let reset = |limit: &str| parse(text_of(headers, &format!("x-ratelimit-reset{limit}"))?, now);
    let reached = LIMITS.into_iter().zip(remaining).filter(|(_, rest)| !tells_rest || is_reached(*rest));
    reached.filter_map(|(limit, _)| reset(limit)).max()
}

/// The longest time that follows one of [`TOLD`] in a text.
fn read_text(text: &str, now: i64) -> Option<i64> {
    // Punctuation separates words, but not numbers and dates.
    let is_digit = |text: Option<char>| text.is_some_and(|letter| letter.is_ascii_digit());
    let letters = text.char_indices().map(|(at, letter)| match letter {
        '.' | '-' | ':'
            if is_digit(text[..at].chars().next_back()) && is_digit(text[at + 1..].chars().next()) =>
        {
            letter
        }
        'µ' => letter,
        _ if letter.is_ascii_alphanumeric() => letter.to_ascii_lowercase(),
        _ => ' ',
    });
    let text = letters.collect::<String>();
    let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let told = TOLD.iter().flat_map(|words| text.match_indices(words).map(|(at, _)| at + words.len()));
    told.filter_map(|at| {
        let end = text.floor_char_boundary(at.saturating_add(TIME_BYTES_MAX));
        read_time(text[at..end].trim_start(), now)
    })
    .max()
}

/// A time at the beginning of a text: `45 seconds`, `1m47.5s and`, `ms 500`, `1700000000000`.
fn read_time(text: &str, now: i64) -> Option<i64> {
    if let Some((unit, number)) = text.split_once(' ').filter(|(unit, _)| unit_of(unit).is_some()) {
        let number = number.split(' ').next().and_then(parse_number)?;
        return unit_of(unit).map(|unit| to_wait(number * unit));
    }
    let mut words = text.split(' ');
    let first = words.next().filter(|word| word.starts_with(|it: char| it.is_ascii_digit()))?;
    match words.next().and_then(unit_of).zip(parse_number(first)) {
        Some((unit, number)) => Some(to_wait(number * unit)),
        None => parse(first, now),
    }
}

fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    Some(headers.get(name)?.to_str().ok()?.trim()).filter(|text| !text.is_empty())
}

/// Seconds, a time since 1970, a duration, or a date.
fn parse(text: &str, now: i64) -> Option<i64> {
    if let Some(number) = parse_number(text) {
        return match number {
            seconds if seconds < 0.0 => None,
            at if (EPOCH_MILLISECONDS_MIN..1e15).contains(&at) => Some(until(to_milliseconds(at), now)),
            at if (EPOCH_SECONDS_MIN..EPOCH_MILLISECONDS_MIN).contains(&at) => {
                Some(until(to_milliseconds(at * 1_000.0), now))
            }
            seconds => Some(to_wait(seconds * 1_000.0)),
        };
    }
    parse_duration(text).map(to_wait).or_else(|| Some(until(parse_date(text)?, now)))
}

/// A decimal number without an exponent.
fn parse_number(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-'));
    if is_number { text.parse().ok().filter(|number: &f64| number.is_finite()) } else { None }
}

/// `21s`, `1m30.5s`, `500ms`, `6m0s`: in milliseconds.
fn parse_duration(text: &str) -> Option<f64> {
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, after) = rest.split_at(digits);
        let unit_end = after.find(|letter: char| letter.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        sum += parse_number(number)? * unit_of(unit.trim())?;
        rest = after;
    }
    (!text.is_empty()).then_some(sum)
}

fn unit_of(name: &str) -> Option<f64> {
    UNITS.iter().find(|(unit, _)| *unit == name).map(|(_, milliseconds)| *milliseconds)
}

/// A date of HTTP or of ISO 8601; UTC by default.
fn parse_date(text: &str) -> Option<i64> {
    if let Ok(at) = httpdate::parse_http_date(text) {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        return Some(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    }
    let nanoseconds = text.parse::<Timestamp>().map(Timestamp::as_nanosecond).or_else(|_| {
        let civil = text.parse::<DateTime>()?;
        Ok::<_, jiff::Error>(TimeZone::UTC.to_timestamp(civil)?.as_nanosecond())
    });
    i64::try_from(-(-nanoseconds.ok()?).div_euclid(1_000_000)).ok()
}

fn until(at: i64, now: i64) -> i64 {
    at.saturating_sub(now).clamp(0, WAIT_MS_MAX)
}

#[expect(clippy::cast_possible_truncation, reason = "a double beyond i64 becomes its bound")]
fn to_milliseconds(milliseconds: f64) -> i64 {
    milliseconds.ceil() as i64
}

fn to_wait(milliseconds: f64) -> i64 {
    // A sum of decimal fractions may exceed its exact value.
    let rounded = milliseconds.round();
    let exact = if (milliseconds - rounded).abs() < 1e-6 { rounded } else { milliseconds };
    to_milliseconds(exact).clamp(0, WAIT_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 784_111_777_000; // 1994-11-06T08:49:37Z

    #[test]
    fn seconds_durations_and_dates_are_read() {
        for (text, now, expected) in [
            ("0", NOON, Some(0)),
            ("7", NOON, Some(7_000)),
            ("1.5", NOON, Some(1_500)),
            ("0.0001", NOON, Some(1)),
            ("7.66", NOON, Some(7_660)),
            ("86400", NOON, Some(WAIT_MS_MAX)),
            ("100000", NOON, Some(WAIT_MS_MAX)),
            ("99999999999999999999", NOON, Some(WAIT_MS_MAX)),
            ("21s", NOON, Some(21_000)),
            ("7.66s", NOON, Some(7_660)),
            ("1m30s", NOON, Some(90_000)),
            ("9m38.016s", NOON, Some(578_016)),
            ("500ms", NOON, Some(500)),
            ("0.5ms", NOON, Some(1)),
            ("1µs", NOON, Some(1)),
            ("6m0s", NOON, Some(360_000)),
            ("1h", NOON, Some(3_600_000)),
            ("1h2m3s", NOON, Some(3_723_000)),
            ("2d", NOON, Some(WAIT_MS_MAX)),
            ("7 s", NOON, Some(7_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", NOON - 5_000, Some(5_000)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", NOON + 5_000, Some(0)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", NOON, Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", NOON, Some(WAIT_MS_MAX)),
            ("1994-11-06T08:49:42Z", NOON, Some(5_000)),
            ("1994-11-06T09:49:42+01:00", NOON, Some(5_000)),
            ("1994-11-06T08:49:37.0001Z", NOON, Some(1)),
            ("1994-11-06T08:49:42", NOON, Some(5_000)),
            ("1994-11-06 08:49:42.5", NOON, Some(5_500)),
            ("1700000007", 1_700_000_000_000, Some(7_000)),
            ("1700000000250", 1_700_000_000_000, Some(250)),
            ("-1", NOON, None),
            ("-1s", NOON, None),
            ("1x", NOON, None),
            ("s", NOON, None),
            ("1e3", NOON, None),
            ("1.2.3", NOON, None),
            ("soon", NOON, None),
        ] {
            assert_eq!(parse(text, now), expected, "{text}");
        }
    }

    fn asked(status: u16, headers: &[(&'static str, &'static str)]) -> Option<i64> {
        let pairs = headers
            .iter()
            .map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        read_answer(&pairs.collect::<HeaderMap>(), status, b"", 1_700_000_000_000)
    }

    #[test]
    fn retry_after_is_asked_first_and_limits_only_if_they_are_reached() {
        const REQUESTS: (&str, &str) = ("x-ratelimit-reset-requests", "2m");
        const TOKENS: (&str, &str) = ("x-ratelimit-reset-tokens", "391ms");
        for (status, headers, expected) in [
            (429, &[("retry-after", "7"), REQUESTS][..], Some(7_000)),
            (429, &[("retry-after", "7"), ("retry-after-ms", "6500.2")], Some(6_501)),
            (429, &[("retry-after", "7"), ("retry-after-ms", "soon")], Some(7_000)),
            (429, &[("retry-after", "soon"), TOKENS], Some(391)),
            (500, &[("retry-after", "7")], Some(7_000)),
            (500, &[REQUESTS, TOKENS], None),
            (429, &[REQUESTS, TOKENS], Some(120_000)),
            (503, &[TOKENS], Some(391)),
            (
                429,
                &[
                    REQUESTS,
                    TOKENS,
                    ("x-ratelimit-remaining-requests", "3"),
                    ("x-ratelimit-remaining-tokens", "0"),
                ],
                Some(391),
            ),
            (429, &[REQUESTS, TOKENS, ("x-ratelimit-remaining-requests", "0")], Some(120_000)),
            (429, &[REQUESTS, TOKENS, ("x-ratelimit-remaining-requests", "7")], None),
            (429, &[("x-ratelimit-reset", "1700000007000"), ("x-ratelimit-remaining", "0")], Some(7_000)),
            (429, &[("X-RateLimit-Reset", "12")], Some(12_000)),
            (429, &[], None),
        ] {
            assert_eq!(asked(status, headers), expected, "{status} {headers:?}");
        }
    }

    #[test]
    fn times_are_found_in_the_texts_of_errors() {
        for (text, expected) in [
            ("Rate limit is exceeded. Try again in 2 seconds.", Some(2_000)),
            ("Please try again in 4.77s. Need more tokens?", Some(4_770)),
            ("Please try again in 9m38.016s. Need more tokens?", Some(578_016)),
            ("Please retry after 86400 seconds.", Some(WAIT_MS_MAX)),
            ("Please retry in 47.434392449s.", Some(47_435)),
            ("Try again in 1 minute. Try again in 60 seconds. Passed model=m", Some(60_000)),
            (r#"{"details":[{"retryDelay": "38s"}]}"#, Some(38_000)),
            (r#"{"message":"{\"retryDelay\": \"38s\"}"}"#, Some(38_000)),
            (r#"{"retry_after":5}"#, Some(5_000)),
            (r#"{"retryAfter":5}"#, Some(5_000)),
            (r#"{"retry_after_seconds":5.5,"x":1}"#, Some(5_500)),
            (r#"{"retry_after_ms": 500}"#, Some(500)),
            (r#"{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Reset":"1700000007000"}}"#, Some(7_000)),
            (r#"{"retry_after":null}"#, None),
            ("Your quota will reset after 1h41m36s.", Some(6_096_000)),
            (&format!("{} retry after 7 s", "retrydelay".repeat(1_500)), Some(7_000)),
            (&format!("retry after {}", "7".repeat(400)), Some(WAIT_MS_MAX)),
            ("Please try again in a moment.", None),
            ("Please try again in -5 s", Some(5_000)),
            ("Please retry after 2023-11-14T22:13:27Z.", Some(7_000)),
            ("Please try again in 5-10 seconds.", None),
            ("You used 5 of 10 seconds.", None),
            ("try again in", None),
            ("try again in µ", None),
        ] {
            assert_eq!(read_text(text, 1_700_000_000_000), expected, "{text}");
        }
    }

    #[test]
    fn headers_come_before_the_text_and_only_busy_answers_have_one() {
        let wait = |status, headers: &HeaderMap| read_answer(headers, status, b"Retry after 9 s", 0);
        let named = HeaderMap::from_iter([(RETRY_AFTER, "7".parse().expect("a value"))]);
        assert_eq!((wait(429, &named), wait(429, &HeaderMap::new())), (Some(7_000), Some(9_000)));
        assert_eq!((wait(503, &HeaderMap::new()), wait(500, &HeaderMap::new())), (Some(9_000), None));
    }
}
