//! Independent readers to compare with.

use overnight_domain::faults::{FAULTS_KEPT_MAX, Faults};
use overnight_domain::json::{JsonText, minimize};
use serde_json::Value;

/// Bytes of a fault's path and message: some words, the known names, and a little of the input.
const FAULT_BYTES_MAX: usize = 8 << 10;

#[track_caller]
pub(crate) fn read(text: &[u8]) -> Value {
    let value = serde_json::from_slice(text);
    value.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// The service's reading, which must equal that of `serde_json`; `None` if it is not JSON, or nested too deep.
pub(crate) fn read_both(text: &[u8]) -> Option<JsonText> {
    match minimize(text, 0) {
        Ok(compact) => {
            assert_eq!(read(text), read(compact.as_str().as_bytes()), "it means something else");
            assert_compact(compact.as_str());
            Some(compact)
        }
        Err(error) => {
            assert!(error.offset <= text.len() && !error.expected.is_empty(), "{error:?}");
            let is_read = serde_json::from_slice::<Value>(text).is_ok();
            assert!(!is_read || error.code == "too_deep", "{error:?}, which serde_json reads");
            None
        }
    }
}

/// The same JSON with every letter of its strings escaped. `None` if it is nested too deep.
pub(crate) fn respell(compact: &str) -> Option<JsonText> {
    let mut text = String::with_capacity(6 * compact.len());
    let (mut in_string, mut is_escaped) = (false, false);
    let mut digits_left = 0;
    for letter in compact.chars() {
        if digits_left > 0 || is_escaped || !in_string || matches!(letter, '"' | '\\') {
            digits_left = if is_escaped && letter == 'u' { 4 } else { usize::saturating_sub(digits_left, 1) };
            in_string ^= letter == '"' && !is_escaped;
            is_escaped = letter == '\\' && !is_escaped;
            text.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            text.push_str(&format!("\\u{unit:04x}"));
        }
    }
    match minimize(text.as_bytes(), 0) {
        Ok(respelt) => Some(respelt),
        Err(error) => {
            assert_eq!(error.code, "too_deep", "{text}");
            None
        }
    }
}

/// Asserts that reading a text again does not change it.
#[track_caller]
pub(crate) fn assert_compact(text: &str) {
    match minimize(text.as_bytes(), 0) {
        Ok(again) => assert_eq!(again.as_str(), text, "it is not compact"),
        Err(error) => panic!("{error} in what was written: {text}"),
    }
}

/// Asserts that faults are specific and short.
#[track_caller]
pub(crate) fn assert_telling(faults: &Faults) {
    assert!(!faults.is_empty(), "refused without a fault");
    assert_eq!(faults.kept().len(), faults.total().min(FAULTS_KEPT_MAX), "{faults:?}");
    for fault in faults.kept() {
        let is_short = fault.param.len() <= FAULT_BYTES_MAX && fault.message.len() <= FAULT_BYTES_MAX;
        let is_plain = !fault.param.chars().chain(fault.message.chars()).any(char::is_control);
        let is_named = fault.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        assert!(is_short && is_plain && is_named && !fault.message.is_empty(), "{fault:?}");
    }
}

/// Asserts that a line has no line break, and is JSON.
#[track_caller]
pub(crate) fn assert_line(line: &[u8]) -> Value {
    let has_break = line.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
    assert!(!has_break, "a line break in {}", String::from_utf8_lossy(line));
    read(line)
}

/// Asserts that a text is events of a stream, each with one line of data, which is JSON except at the end of some streams.
#[track_caller]
pub(crate) fn assert_events(text: &[u8]) {
    let text = std::str::from_utf8(text).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with("\n\n"), "the last event has no end: {text}");
    for event in text.split_terminator("\n\n") {
        let mut has_data = false;
        for line in event.split('\n') {
            match line.split_once(": ") {
                Some(("event", name)) => assert!(!name.contains('\r'), "{event}"),
                Some(("data", "[DONE]")) => has_data = true,
                Some(("data", data)) => {
                    assert_line(data.as_bytes());
                    has_data = true;
                }
                _ => panic!("a line that is neither: {event}"),
            }
        }
        assert!(has_data, "no data: {event}");
    }
}

/// Parts of an input, separated by line breaks: the last has the rest, and missing ones are empty.
pub(crate) fn parts<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut parts = [&b""[..]; N];
    for (place, part) in input.splitn(N, |byte| *byte == b'\n').enumerate() {
        parts[place] = part;
    }
    parts
}
