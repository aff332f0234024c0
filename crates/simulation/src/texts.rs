//! What clients send and engines answer, as JSON.

use serde_json::Value;

use super::chance::Chance;
use super::tags::Tag;

const PREFIXES: i64 = 6;
/// Webhook receivers, each with its own behaviour.
const HOSTS: u64 = 4;

/// The `request_body` of a request, as it will be stored.
pub(super) fn prompt(model: &str, request: Tag, chance: &mut Chance) -> String {
    let prefix = chance.between(0, PREFIXES);
    let shared = format!("You answer questions of kind {prefix}. ").repeat(12);
    let max_tokens = chance.between(1, 400);
    format!(
        r#"{{"model":"{model}","messages":[{{"role":"system","content":"{shared}"}},{{"role":"user","content":"question {request}"}}],"max_tokens":{max_tokens}}}"#
    )
}

pub(super) fn other_prompt(prompt: &str) -> String {
    prompt.replace("\"question ", "\"another question ")
}

pub(super) fn create_request(prompt: &str, request: Tag) -> String {
    format!(r#"{{"request_body":{prompt},"metadata":{{"tag":{request}}}{}}}"#, member(request))
}

pub(super) fn create_batch(ids: &[String], batch: Tag) -> String {
    let ids = ids.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(",");
    format!(r#"{{"requests_ids":[{ids}],"metadata":{{"tag":{batch}}}{}}}"#, member(batch))
}

/// A line of a file, followed by this many blank lines.
pub(super) fn line(prompt: &str, request: Tag, blanks: usize) -> String {
    let blanks = "\n".repeat(blanks);
    format!(
        r#"{{"custom_id":"{request}","method":"POST","url":"/v1/chat/completions","body":{prompt}}}{blanks}"#
    ) + "\n"
}

pub(super) fn metadata(batch: Tag) -> String {
    format!(r#"{{"tag":{batch}}}"#)
}

/// The `webhook` member, preceded by a comma; empty if the tag has none.
fn member(tag: Tag) -> String {
    webhook(tag).map(|url| format!(r#","webhook":"{url}""#)).unwrap_or_default()
}

/// The URL that is notified of the end of a request or batch, if it has one.
pub(super) fn webhook(tag: Tag) -> Option<String> {
    tag.is_multiple_of(3).then(|| format!("https://h{}.example/{tag}", (tag / 3) % HOSTS))
}

pub(super) fn tag_of_webhook(url: &str) -> Option<Tag> {
    url.rsplit_once('/')?.1.parse().ok()
}

/// The tag in a record's metadata; a line's tag is its `custom_id`.
pub(super) fn tag(metadata: Option<&[u8]>) -> Option<Tag> {
    let text = std::str::from_utf8(metadata?).ok()?;
    let of_line = || text.strip_prefix(r#"{"custom_id":""#)?.strip_suffix(r#""}"#);
    text.strip_prefix(r#"{"tag":"#).and_then(|rest| rest.strip_suffix('}')).or_else(of_line)?.parse().ok()
}

pub(super) fn tag_of_prompt(prompt: &[u8]) -> Option<Tag> {
    let text = std::str::from_utf8(prompt).ok()?;
    text.split_once("\"question ")?.1.split_once('"')?.0.parse().ok()
}

pub(super) fn completion(text: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion","model":"engine","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":90,"completion_tokens":7,"total_tokens":97}}}}"#
    )
}

/// The model and the text of a stored completion.
pub(super) fn answer(result: &[u8]) -> Option<(String, String)> {
    let result: Value = serde_json::from_slice(result).ok()?;
    let text = result.pointer("/choices/0/message/content")?.as_str()?;
    Some((result.get("model")?.as_str()?.to_owned(), text.to_owned()))
}

pub(super) fn failure_code(result: &[u8]) -> Option<String> {
    let result: Value = serde_json::from_slice(result).ok()?;
    Some(result.pointer("/error/code")?.as_str()?.to_owned())
}
