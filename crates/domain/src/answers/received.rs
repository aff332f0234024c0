//! Names for bodies that are not JSON.

use crate::faults::Quoted;
use crate::json::JsonError;

/// Bytes of a body that are searched.
const LOOKED_AT_BYTES: usize = 16 << 10;

const PAGE_MARKS: [&str; 4] = ["<!doctype html", "<html", "<head", "<body"];

/// The title of an HTML page, else its first heading, else an empty text. `None` if the body is not an HTML page.
pub fn page_title(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT_BYTES)]);
    // Lower-case ASCII keeps all offsets.
    let lower = text.to_ascii_lowercase();
    if !lower.trim_start_matches('\u{feff}').trim_start().starts_with('<')
        || !PAGE_MARKS.iter().any(|mark| lower.contains(mark))
    {
        return None;
    }
    let element = |name: &str| {
        let opening = lower.find(&format!("<{name}"))?;
        let start = opening + lower[opening..].find('>')? + 1;
        let end = start + lower[start..].find("</")?;
        let words: Vec<_> = text[start..end].split_whitespace().collect();
        Some(unescape(&words.join(" "))).filter(|title| !title.is_empty())
    };
    Some(element("title").or_else(|| element("h1")).unwrap_or_default())
}

fn unescape(text: &str) -> String {
    let escapes =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#x27;", "'"), ("&amp;", "&")];
    escapes.iter().fold(text.to_owned(), |text, (escape, letter)| text.replace(escape, letter))
}

/// Describes an answer that is not JSON because of `error`.
pub(super) fn name_received(answer: &[u8], error: &JsonError) -> String {
    let text = answer.trim_ascii();
    if text.is_empty() {
        return "the engine's answer is empty".to_owned();
    }
    match page_title(answer).as_deref() {
        Some("") => "the engine answered with an HTML page".to_owned(),
        Some(title) => format!("the engine answered with an HTML page titled \"{}\"", Quoted(title)),
        None if text.starts_with(b"<?xml") => "the engine answered with an XML document".to_owned(),
        None => format!("the engine's answer is not JSON: {error}"),
    }
}
