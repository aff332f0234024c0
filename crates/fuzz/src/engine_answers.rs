//! What engines answer.
//!
//! An answer is refused, or it is taken with a usage that can be charged; then every dialect tells it as JSON, and it is taken again as it
//! is stored.

use bytes::Bytes;
use overnight_domain::answers::{BadCompletion, Completion};
use overnight_domain::chat;
use overnight_domain::endpoint_rules::parse_answer;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText, Kind, minimize};
use overnight_domain::money::{Credits, Pricing};
use overnight_domain::records::RequestRecord;
use overnight_wire::anthropic::{self, Message};
use overnight_wire::openai::{chat as openai_chat, completions, outputs, responses};
use overnight_wire::{exxa, native};
use serde_json::Value;

use crate::oracles::{assert_compact, assert_events, assert_line, parts, read, respell};
use crate::{records, told_again};

const MODEL: &str = "the \"model\"";

/// The most tokens that are believed of an answer.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// The longest reason for which an answer is refused, in bytes.
const REASON_BYTES_MAX: usize = 1 << 10;

/// Panics where an input breaks it: a body in its first line, and the answer to it.
pub fn check(input: &[u8]) {
    let [body, answer] = parts(input);
    let body = minimize(body, 0).ok().filter(|body| body.as_json().kind() == Kind::Object);
    let asked = body.as_ref().map_or(Json::EMPTY_OBJECT, JsonText::as_json);
    let respelt = minimize(answer, 0).ok().and_then(|answer| respell(answer.as_str()));
    for endpoint in Endpoint::ALL {
        let other = respelt.as_ref().map(|it| parse_answer(endpoint, asked, it.as_str().as_bytes(), MODEL));
        match parse_answer(endpoint, asked, answer, MODEL) {
            Ok(completion) => {
                check_taken(endpoint, asked, &completion);
                check_same(asked, &completion, &other.and_then(Result::ok).expect("taken, spelt otherwise"));
            }
            Err(bad) => {
                assert!(other.is_none_or(|other| other.is_err()), "taken only when it is spelt otherwise");
                let (BadCompletion::NotACompletion { reason, .. } | BadCompletion::BadUsage(reason)) = &bad;
                assert!(!reason.is_empty() && bad.to_string().len() <= REASON_BYTES_MAX, "{bad}");
            }
        }
    }
}

fn check_taken(endpoint: Endpoint, asked: Json<'_>, completion: &Completion) {
    let text = completion.body.as_str();
    assert_compact(text);
    assert_eq!(read(text.as_bytes())["model"], MODEL);
    assert_eq!(parse_answer(endpoint, asked, text.as_bytes(), MODEL).as_ref(), Ok(completion));
    check_usage(endpoint, completion);
    let warnings = chat::find_warnings(asked, completion);
    assert!(warnings.len() <= 6 && warnings.iter().all(|warning| warning.message.len() <= 200));
    let written = native::warnings::write_warnings(&warnings);
    let mut request = records::request(records::COMPLETED, endpoint, asked);
    request.result = Some(Bytes::from(text.to_owned()));
    request.warnings = written.map(Bytes::from);
    check_told(&request);
    check_streamed(&request);
    if endpoint == Endpoint::ChatCompletions {
        told_again::check_answer(&request);
    }
    check_joined(completion);
}

/// That an answer which says the same is the same.
fn check_same(asked: Json<'_>, completion: &Completion, other: &Completion) {
    assert_eq!(completion.usage, other.usage);
    assert_eq!(read(completion.body.as_str().as_bytes()), read(other.body.as_str().as_bytes()));
    assert_eq!(chat::choices_given(completion), chat::choices_given(other));
    assert_eq!(chat::find_warnings(asked, completion), chat::find_warnings(asked, other));
}

fn check_usage(endpoint: Endpoint, completion: &Completion) {
    let usage = completion.usage;
    let counts = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
    assert!(counts.iter().all(|count| *count <= TOKENS_MAX), "{usage:?}");
    assert!(usage.cached_tokens.is_none_or(|cached| cached <= usage.prompt_tokens), "{usage:?}");
    assert!(endpoint.has_output() || usage.completion_tokens == 0);
    assert!(usage.cost() >= usage.tokens() && usage.tokens() >= 0);
    let pricing = Pricing { input: Credits::MAX, output: Credits::MAX };
    let hold = Credits::from_nanos(1_000);
    let (charge, short) = pricing.capture(hold, usage.prompt_tokens, usage.completion_tokens);
    assert!(charge <= hold && short >= Credits::ZERO);
}

/// Every record that tells it.
fn check_told(request: &RequestRecord) {
    let told = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut line = Vec::new();
        write(&mut line);
        assert_line(&line)
    };
    let result = read(request.result.as_deref().expect("a result"));
    let full = told(&|out| native::requests::write_full(request, out));
    assert_eq!(full["result_body"], result);
    assert_eq!(told(&|out| exxa::requests::write_full(request, out))["status"], "completed");
    told(&|out| exxa::requests::write_result(request, out));
    assert_eq!(told(&|out| outputs::write_answer(request, out))["response"]["body"]["model"], MODEL);
    told(&|out| outputs::write_response_answer(request, out));
    told(&|out| responses::write_response(request, out));
    told(&|out| anthropic::results::write_result(request, out));
    told(&|out| Message::of(request).write(out));
    let whole =
        told(&|out| openai_chat::write_completion(request.result.as_deref().unwrap_or_default(), out));
    assert_same_choices(&whole, &result);
    for is_newest_first in [false, true] {
        let page = responses::ItemsPage { is_newest_first, limit: 2, after: None };
        told(&|out| responses::write_input_items(request, &page, out));
    }
}

fn assert_same_choices(told: &Value, result: &Value) {
    for member in ["choices", "usage", "data", "id"] {
        assert_eq!(told.get(member), result.get(member));
    }
}

/// Every stream that tells it.
fn check_streamed(request: &RequestRecord) {
    let result = request.result.as_deref().unwrap_or_default();
    let streamed = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut events = Vec::new();
        write(&mut events);
        assert_events(&events);
    };
    for includes_usage in [false, true] {
        streamed(&|out| openai_chat::write_chunks(result, includes_usage, out));
        streamed(&|out| completions::write_chunks(result, includes_usage, out));
    }
    for after in [None, Some(1), Some(i64::MAX)] {
        streamed(&|out| responses::write_opening(request, after, out));
        streamed(&|out| responses::write_ending(request, after, out));
    }
    streamed(&|out| anthropic::events::write_events(&Message::of(request), out));
}

/// Twice the same answer, as that of an engine that gives one choice at a time.
fn check_joined(completion: &Completion) {
    let given = chat::choices_given(completion);
    let both = [completion.clone(), completion.clone()];
    let joined = chat::join_choices(&both, 2).expect("some");
    assert_compact(joined.body.as_str());
    assert_eq!(chat::choices_given(&joined), 2 * given);
    assert_eq!(joined.usage.prompt_tokens, completion.usage.prompt_tokens);
    assert_eq!(joined.usage.completion_tokens, 2 * completion.usage.completion_tokens);
}
