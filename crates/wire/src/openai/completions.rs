//! Completions of prompts without a conversation, answered as the engine wrote them.

use overnight_domain::json::{Json, RawObject};

use super::events::push_data;
use crate::json::{IfSet, object, push};

/// Appends the events of a completion: one for each choice, then the usage, if asked for, and the end.
pub fn write_chunks(completion: &[u8], includes_usage: bool, out: &mut Vec<u8>) {
    let completion = Json::from_stored(completion).ok().and_then(Json::to_object);
    let Some(completion) = completion else { return };
    for choice in completion.get("choices").and_then(Json::elements).into_iter().flatten() {
        write_chunk(&completion, Some(choice), includes_usage, out);
    }
    if includes_usage {
        write_chunk(&completion, None, includes_usage, out);
    }
    push("data: [DONE]\n\n", out);
}

/// An event with a choice, or with the usage if `choice` is `None`.
fn write_chunk(
    completion: &RawObject<'_>,
    choice: Option<Json<'_>>,
    includes_usage: bool,
    out: &mut Vec<u8>,
) {
    let usage = completion.get("usage").filter(|_| choice.is_none());
    let chunk = object! {
        "id": IfSet(completion.get("id")),
        "object": IfSet(completion.get("object")),
        "created": IfSet(completion.get("created")),
        "model": IfSet(completion.get("model")),
        "system_fingerprint": IfSet(completion.get("system_fingerprint")),
        "choices": choice.as_slice(),
        "usage": IfSet((usage.is_some() || includes_usage).then_some(usage)),
    };
    push_data(chunk, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_choice_is_an_event_and_the_usage_is_one_where_it_is_asked_for() {
        let completion = br#"{"id":"c","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}],"usage":{"total_tokens":3}}"#;
        let told = |includes_usage| {
            let mut out = Vec::new();
            write_chunks(completion, includes_usage, &mut out);
            String::from_utf8(out).expect("UTF-8")
        };
        let head = r#"data: {"id":"c","object":"text_completion","created":1,"model":"m","choices":"#;
        let whole = format!(
            "{head}[{{\"index\":0,\"text\":\"a\"}}]}}\n\n{head}[{{\"index\":1,\"text\":\"b\"}}]}}\n\ndata: [DONE]\n\n"
        );
        assert_eq!(told(false), whole);
        assert!(told(true).contains("[{\"index\":0,\"text\":\"a\"}],\"usage\":null}"));
        assert!(told(true).ends_with("\"choices\":[],\"usage\":{\"total_tokens\":3}}\n\ndata: [DONE]\n\n"));
    }
}
