//! Bodies of requests, in every dialect.
//!
//! An accepted body is valid JSON for other parsers too, is sent to engines as JSON, and is accepted again with the same meaning as the
//! service writes it. A refused body has faults.

use overnight_domain::bodies::Sizing;
use overnight_domain::chat::{self, LimitField};
use overnight_domain::completions;
use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::Faults;
use overnight_domain::json::{Json, JsonText, minimize};
use overnight_domain::limits::Limits;
use overnight_domain::money::{Credits, Pricing};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::sort_key::SortKey;
use overnight_wire::prompts::Shape;
use overnight_wire::{anthropic, exxa, native, openai};

use serde_json::Value;

use crate::oracles::{assert_compact, assert_telling, read, read_both, respell};
use crate::{records, told_again};

const SIZING: Sizing = Sizing { default_max_tokens: 512, image_tokens: 1_024, bytes_per_token: 2 };
const SECRET: [u8; 32] = [7; 32];

/// A translation grows by the names of the other dialect.
const TRANSLATED_TIMES_MAX: usize = 12;
const TRANSLATED_BYTES_MORE: usize = 4 << 10;

/// A dialect's translation into a body of Create Request.
type Reading = fn(JsonText) -> Result<JsonText, Faults>;

const DIALECTS: [(&str, Reading); 6] = [
    ("native", Ok),
    ("chat completions and completions", openai::chat::to_native),
    ("responses", openai::responses::to_native),
    ("embeddings", openai::embeddings::to_native),
    ("messages", anthropic::to_native),
    ("exxa", exxa::chat::to_native),
];

pub fn check(input: &[u8]) {
    check_line(input);
    let Some(body) = read_both(input) else { return };
    read_beside(body.as_json());
    told_again::check_response(body.as_json());
    let respelt = respell(body.as_str()).expect("it is as deep");
    for (dialect, to_native) in DIALECTS {
        let (native, other) = (to_native(body.clone()), to_native(respelt.clone()));
        match native {
            Err(faults) => {
                assert_telling(&faults);
                assert_eq!(places(other.as_ref().err()), places(Some(&faults)), "{dialect}, spelt otherwise");
            }
            Ok(create) => {
                let other = other.map(|other| read(other.as_str().as_bytes()));
                assert_eq!(other, Ok(read(create.as_str().as_bytes())), "{dialect}, spelt otherwise");
                let bytes_max = body.as_str().len() * TRANSLATED_TIMES_MAX + TRANSLATED_BYTES_MORE;
                assert!(create.as_str().len() <= bytes_max, "{dialect}: {}", create.as_str().len());
                check_create(create.as_json());
            }
        }
    }
}

fn places(faults: Option<&Faults>) -> Option<Vec<(&str, &str)>> {
    faults.map(|faults| faults.kept().iter().map(|fault| (&*fault.param, fault.code)).collect())
}

/// What is read of a body in addition to its translation.
fn read_beside(body: Json<'_>) {
    if let Err(faults) = openai::chat::Delivery::read(body) {
        assert_telling(&faults);
    }
    if let Err(faults) = openai::responses::Delivery::read(body) {
        assert_telling(&faults);
    }
    let is_taken = anthropic::to_chat(body).is_ok();
    let in_batch = anthropic::to_chat_in_batch(body);
    assert_eq!(in_batch.is_ok(), is_taken && !anthropic::asks_for_stream(body));
    let origins = anthropic::Origins::of(body);
    for param in ["request_body.messages[0].content[1]", "request_body.tools[3].function", ""] {
        origins.locate(param);
    }
    if let Err(words) = anthropic::elements::Element::read(body) {
        assert!(!words.is_empty());
    }
}

/// A line of prompts, in any of several shapes.
fn check_line(line: &[u8]) {
    let line = line.trim_ascii();
    let made = Shape::of(line).and_then(|shape| shape.create_body(line));
    match made {
        Err(words) => assert!(!words.is_empty()),
        Ok(create) => {
            if let Ok(create) = minimize(&create, 0) {
                check_create(create.as_json());
            }
        }
    }
}

fn check_create(create: Json<'_>) {
    let create = create.to_object().filter(|create| create.duplicate_keys().is_empty());
    let Some(body) = create.and_then(|create| create.get("request_body")) else { return };
    let respelt = respell(body.as_str());
    for endpoint in Endpoint::ALL {
        let parse = |body| RequestBody::parse(endpoint, body, "request_body", &Limits::default());
        let other = respelt.as_ref().map(|body| parse(body.as_json()));
        match parse(body) {
            Err(faults) => {
                assert_telling(&faults);
                assert!(faults.kept().iter().all(|fault| fault.param.starts_with("request_body")));
                let other = other.as_ref().map_or(Some(&faults), |other| other.as_ref().err());
                assert_eq!(places(other), places(Some(&faults)), "spelt otherwise");
            }
            Ok(body) => {
                check_taken(&body);
                check_same(&body, &other.expect("it is as deep").expect("taken, spelt otherwise"));
            }
        }
    }
}

fn check_taken(body: &RequestBody) {
    let text = body.text().as_json();
    let endpoint = body.endpoint();
    assert_eq!(read(text.as_str().as_bytes())["model"], *body.model());
    check_again(body);
    check_numbers(body);
    check_keys(text);
    check_sent(body);
    let said = chat::excerpt(text, 40).unwrap_or_default();
    assert!(said.chars().count() <= 40 && !said.chars().any(char::is_control), "{said:?}");
    match endpoint {
        Endpoint::ChatCompletions => check_choices(text, 1, chat::choices_asked(text), chat::for_one_choice),
        Endpoint::Completions => {
            let (prompts, n) = completions::choices_asked(text);
            check_choices(text, prompts, n, completions::for_one_choice);
        }
        Endpoint::Embeddings => {}
    }
}

/// Asserts that an equivalent body asks for the same, at the same place of the queue.
fn check_same(body: &RequestBody, other: &RequestBody) {
    assert_eq!((body.model(), body.max_tokens(&SIZING)), (other.model(), other.max_tokens(&SIZING)));
    assert_eq!(body.token_bound(&SIZING).output, other.token_bound(&SIZING).output);
    let (text, other) = (body.text().as_json(), other.text().as_json());
    assert_eq!(chat::choices_asked(text), chat::choices_asked(other));
    assert_eq!(chat::has_output_limit(text), chat::has_output_limit(other));
    assert_eq!(chat::excerpt(text, 40), chat::excerpt(other, 40));
    // Parts and tools are compared as they are spelt.
    let value = read(text.as_str().as_bytes());
    let is_text = |message: &Value| message["content"].is_string() && message["tool_calls"].is_null();
    let has_texts_alone = value["messages"].as_array().is_some_and(|messages| messages.iter().all(is_text));
    if has_texts_alone && value["tools"].is_null() {
        assert_eq!(SortKey::compute(&SECRET, text), SortKey::compute(&SECRET, other));
    }
}

/// Asserts that the body, as the service writes it, is accepted again with the same meaning.
fn check_again(body: &RequestBody) {
    let request = records::request(records::COMPLETED, body.endpoint(), body.text().as_json());
    let mut written = Vec::new();
    native::requests::write_create(&request, &mut written);
    let again = minimize(&written, 0).unwrap_or_else(|error| panic!("it is not taken again: {error}"));
    let create = again.as_json().to_object().expect("an object");
    let sent = create.get("request_body").expect("a body");
    let again = RequestBody::parse(body.endpoint(), sent, "request_body", &Limits::default());
    assert_eq!(again.as_ref(), Ok(body), "it is another when it is sent again");
}

fn check_numbers(body: &RequestBody) {
    let bound = body.token_bound(&SIZING);
    let pricing = Pricing { input: Credits::MAX, output: Credits::from_nanos(1) };
    let hold = pricing.hold(bound);
    assert!((Credits::ZERO..=Credits::MAX).contains(&hold));
    assert_eq!(body.max_tokens(&SIZING).is_some(), body.endpoint().has_output());
    let output = body.max_tokens(&SIZING).map_or(0, u64::from);
    assert!(bound.output >= output, "{bound:?} does not hold {output}");
    let _ = body.estimate_cost(&SIZING);
    let mut faults = Faults::default();
    body.check_answer_size(&SIZING, "request_body", &mut faults);
    if !faults.is_empty() {
        assert_telling(&faults);
    }
}

/// Its place in the queue, which does not depend on the prompt's spelling.
fn check_keys(text: Json<'_>) {
    let key = SortKey::compute(&SECRET, text);
    assert!(key.as_bytes().len() <= SortKey::MAX_BYTES);
    let (same, blocks) = SortKey::compute_with_blocks(&SECRET, text);
    assert_eq!(key, same);
    assert!(blocks.bytes() <= 2 * text.as_str().len() + 64, "{} bytes of blocks", blocks.bytes());
    assert_eq!(SortKey::from_bytes(key.as_bytes()), key);
}

/// The body for an engine: JSON with unique members, the engine's name of the model and an output limit.
fn check_sent(body: &RequestBody) {
    let (text, salt) = (body.text().as_json(), chat::CacheSalt::new(&SECRET, AccountKey(3)));
    let max_tokens = body.max_tokens(&SIZING);
    for field in [None, Some(LimitField::MaxTokens), Some(LimitField::MaxCompletionTokens)] {
        let sent = chat::engine_body(text, "engine's \"own\"", max_tokens, field, Some(&salt));
        assert_compact(sent.as_str());
        let object = sent.as_json().to_object().expect("an object");
        assert!(object.duplicate_keys().is_empty(), "{}", sent.as_str());
        let value = read(sent.as_str().as_bytes());
        assert_eq!(value["model"], "engine's \"own\"");
        assert!(value["cache_salt"].is_string() && value.get("stream").is_none());
        if let Some(max_tokens) = max_tokens {
            let used = chat::output_limit(text).map_or(LimitField::MaxTokens, |(used, _)| used);
            let name = field.unwrap_or(used);
            assert_eq!(value[name.name()], max_tokens, "{}", sent.as_str());
            assert_eq!(value.get(name.other().name()), None, "{}", sent.as_str());
        }
    }
}

/// The bodies for single choices are accepted too, and each asks for one.
fn check_choices(text: Json<'_>, prompts: usize, n: u32, for_one: fn(Json<'_>, u32) -> JsonText) {
    let count = u32::try_from(prompts).expect("a number of prompts that is taken") * n;
    assert!((1..=128).contains(&count), "{count} completions");
    for index in [0, count - 1] {
        let one = for_one(text, index);
        assert_compact(one.as_str());
        assert_eq!(chat::choices_asked(one.as_json()), 1, "{}", one.as_str());
        let endpoint = if text.members().into_iter().flatten().any(|member| member.key() == "prompt") {
            Endpoint::Completions
        } else {
            Endpoint::ChatCompletions
        };
        if let Ok(RequestBody::Completion(body)) =
            RequestBody::parse(endpoint, one.as_json(), "request_body", &Limits::default())
        {
            assert_eq!(body.completions, 1, "{}", one.as_str());
        }
    }
}
