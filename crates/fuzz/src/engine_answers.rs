//! Answers of engines.
//!
//! An answer is refused, or accepted as strict JSON. Its usage can be charged, or is 0 if nothing is charged. A valid answer is unchanged
//! except for its model. Every dialect writes it as JSON, and the stored answer is accepted again.

use bytes::Bytes;
use overnight_domain::answers::{BadCompletion, Completion, Reader, find_message, page_title};
use overnight_domain::chat;
use overnight_domain::endpoint_rules::parse_answer;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText, Kind, minimize, repair};
use overnight_domain::money::{Credits, Pricing};
use overnight_domain::records::RequestRecord;
use overnight_wire::anthropic::{self, Message};
use overnight_wire::openai::{chat as openai_chat, completions, outputs, responses};
use overnight_wire::{exxa, native};
use serde_json::Value;

use crate::oracles::{assert_compact, assert_events, assert_line, parts, read, respell};
use crate::{records, told_again};

const MODEL: &str = "the \"model\"";

const CHARGED: Reader<'_> = Reader { client_model: MODEL, is_charged: true, shares_cache: false };
const FREE: Reader<'_> = Reader { is_charged: false, ..CHARGED };
const SHARING: Reader<'_> = Reader { shares_cache: true, ..FREE };

/// The largest plausible count of an answer.
const TOKENS_MAX: u64 = 1_000_000_000_000;

/// Bytes of a refusal's reason: the engine's message and some words.
const REASON_BYTES_MAX: usize = 3 << 10;

/// The input is a body in its first line, followed by its answer.
pub fn check(input: &[u8]) {
    let [body, answer] = parts(input);
    let body = minimize(body, 0).ok().filter(|body| body.as_json().kind() == Kind::Object);
    let asked = body.as_ref().map_or(Json::EMPTY_OBJECT, JsonText::as_json);
    let strict = minimize(answer, 0).ok();
    check_repair(answer, strict.as_ref());
    let respelt = strict.as_ref().and_then(|answer| respell(answer.as_str()));
    for endpoint in Endpoint::ALL {
        let taken = parse_answer(endpoint, asked, answer, CHARGED);
        let other = respelt.as_ref().map(|it| parse_answer(endpoint, asked, it.as_str().as_bytes(), CHARGED));
        match &taken {
            Ok(completion) => {
                check_taken(endpoint, asked, completion);
                if let Some(other) = other {
                    check_same(asked, completion, &other.expect("taken, spelt otherwise"));
                }
                if let Some(strict) = &strict {
                    check_unchanged(completion, strict);
                }
            }
            Err(bad) => {
                assert!(other.is_none_or(|other| other.is_err()), "taken only when it is spelt otherwise");
                check_refused(bad);
            }
        }
        match (taken, parse_answer(endpoint, asked, answer, FREE)) {
            (Ok(charged), free) => assert_eq!(free, Ok(charged)),
            (Err(BadCompletion::NoUsage(_)), free) => {
                check_taken(endpoint, asked, &free.expect("taken for nothing"));
            }
            (Err(bad), free) => assert_eq!(free, Err(bad)),
        }
    }
}

/// A repaired text is strict JSON without repeated keys, and strict JSON keeps its meaning.
fn check_repair(answer: &[u8], strict: Option<&JsonText>) {
    let title = page_title(answer);
    match (repair(answer), strict) {
        (Ok(repaired), strict) => {
            assert_compact(repaired.text.as_str());
            let object = repaired.text.as_json().to_object();
            assert!(object.is_none_or(|object| object.duplicate_keys().is_empty()));
            assert!(find_message(repaired.text.as_json()).is_none_or(|message| message.len() <= 2_048));
            assert_eq!(title, None);
            if let Some(strict) = strict {
                assert_eq!(read(repaired.text.as_str().as_bytes()), read(strict.as_str().as_bytes()));
            }
        }
        (Err(error), strict) => assert!(strict.is_none() && error.offset <= answer.len(), "{error}"),
    }
}

fn check_refused(bad: &BadCompletion) {
    let words = bad.to_string();
    assert!(!words.is_empty() && words.len() <= REASON_BYTES_MAX, "{words}");
    if let BadCompletion::Reported { status, .. } = bad {
        assert!((400..=599).contains(status));
    }
}

/// Strict JSON is unchanged except for the members that the service writes.
fn check_unchanged(completion: &Completion, strict: &JsonText) {
    let mut values = [completion.body.as_str(), strict.as_str()].map(|text| read(text.as_bytes()));
    for member in ["model", "object", "usage"] {
        values.iter_mut().filter_map(Value::as_object_mut).for_each(|it| drop(it.remove(member)));
    }
    let [kept, sent] = values;
    assert_eq!(kept, sent);
}

fn check_taken(endpoint: Endpoint, asked: Json<'_>, completion: &Completion) {
    let text = completion.body.as_str();
    assert_compact(text);
    assert_eq!(read(text.as_bytes())["model"], MODEL);
    let again = parse_answer(endpoint, asked, text.as_bytes(), FREE).expect("taken again");
    assert_eq!((&again.body, again.usage), (&completion.body, completion.usage));
    check_usage(endpoint, completion);
    check_shared_cache(endpoint, asked, completion);
    let mut warnings = completion.warnings.clone();
    warnings.extend(chat::find_warnings(asked, completion));
    assert!(
        warnings.len() <= 11 && warnings.iter().all(|warning| warning.message.len() <= 500),
        "{warnings:?}"
    );
    assert!(warnings.iter().all(|it| it.ignored_field().is_some() != it.odd_part().is_some()));
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

/// Asserts that an equivalent answer is read as the same.
fn check_same(asked: Json<'_>, completion: &Completion, other: &Completion) {
    assert_eq!((completion.usage, &completion.warnings), (other.usage, &other.warnings));
    assert_eq!(read(completion.body.as_str().as_bytes()), read(other.body.as_str().as_bytes()));
    assert_eq!(chat::choices_given(completion), chat::choices_given(other));
    assert_eq!(chat::find_warnings(asked, completion), chat::find_warnings(asked, other));
}

/// Asserts that an answer over a shared cache has the same choices and charge, and no cache count.
fn check_shared_cache(endpoint: Endpoint, asked: Json<'_>, completion: &Completion) {
    let parsed = |body: &JsonText| parse_answer(endpoint, asked, body.as_str().as_bytes(), SHARING);
    let hidden = parsed(&completion.body).expect("taken again");
    assert_compact(hidden.body.as_str());
    assert!(hidden.body.as_str().len() <= completion.body.as_str().len());
    assert_eq!(hidden.usage, completion.usage);
    assert_eq!(chat::choices_given(&hidden), chat::choices_given(completion));
    let again = parsed(&hidden.body).expect("taken a third time");
    assert_eq!((&again.body, again.usage.cached_tokens), (&hidden.body, None));
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

/// Joins two copies of the answer, as of an engine that gives one choice at a time.
fn check_joined(completion: &Completion) {
    let given = chat::choices_given(completion);
    let both = [completion.clone(), completion.clone()];
    let joined = chat::join_choices(&both, 2).expect("some");
    assert_compact(joined.body.as_str());
    assert_eq!(chat::choices_given(&joined), 2 * given);
    assert_eq!(joined.usage.prompt_tokens, completion.usage.prompt_tokens);
    assert_eq!(joined.usage.completion_tokens, 2 * completion.usage.completion_tokens);
}
