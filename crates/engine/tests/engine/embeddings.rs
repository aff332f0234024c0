//! Embedding models with random weights, and vectors computed from them by scripts/tiny-embeddings with NumPy only.

use std::fs;
use std::thread;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    models::Model,
    support::{Answer, Engine, KEY, chat, message, poll},
};

const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");
const NAMES: [&str; 2] = ["tiny-bert", "tiny-qwen3"];
/// Tolerance for a number of a vector of length 1, because keys and values may be 16-bit floats.
const NEAR: f64 = 2e-3;

fn start(name: &str, flags: &[&str]) -> Engine {
    Engine::start_with(&path(name), flags)
}

fn path(name: &str) -> String {
    format!("{MODELS}/{name}.gguf")
}

fn cases(name: &str) -> Vec<Value> {
    let text = fs::read_to_string(format!("{MODELS}/{name}.json")).expect("the vectors");
    serde_json::from_str(&text).expect("a list")
}

fn post(engine: &Engine, fields: &Value) -> Answer {
    let mut body = json!({ "model": "tiny" });
    body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    engine.request("POST", "/v1/embeddings", KEY, &body.to_string())
}

fn vectors(answer: &Answer) -> Vec<Vec<f64>> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    let data = answer["data"].as_array().expect("data");
    let places: Vec<u64> = data.iter().filter_map(|datum| datum["index"].as_u64()).collect();
    assert_eq!(places, (0..data.len() as u64).collect::<Vec<_>>());
    data.iter().map(|datum| numbers(&datum["embedding"])).collect()
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().expect("a list").iter().map(|number| number.as_f64().expect("a number")).collect()
}

/// The largest difference at the same index.
fn distance(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
}

#[test]
fn vocabularies_without_a_token_that_llama_cpp_adds_are_refused() {
    for key in ["tokenizer.ggml.bos_token_i", "tokenizer.ggml.seperator_token_i"] {
        // An unknown key: the default is beyond the vocabulary.
        let (code, log) = Model::changed(key, &path("tiny-bert"), &[(key, 0, b"x")]).refusal();
        assert_eq!(code, Some(1), "{key}: {log}");
        assert!(log.contains("its vocabulary names no token that begins or ends an input"), "{key}: {log}");
    }
}

#[test]
fn vectors_are_those_of_an_independent_computation() {
    for name in NAMES {
        let engine = start(name, &[]);
        let cases = cases(name);
        let texts: Vec<&Value> = cases.iter().map(|case| &case["text"]).collect();
        let tokens: Vec<&Value> = cases.iter().map(|case| &case["tokens"]).collect();
        let of_texts = post(&engine, &json!({ "input": texts, "user": "u" }));
        let of_tokens = post(&engine, &json!({ "input": tokens }));
        for answer in [&of_texts, &of_tokens] {
            let mut far: f64 = 0.0;
            for (found, case) in vectors(answer).iter().zip(&cases) {
                far = far.max(distance(found, &numbers(&case["embedding"])));
            }
            println!("{name}: {far:e} from NumPy's");
            assert!(far < NEAR, "{name}: {far}");
        }
        let count: usize = tokens.iter().filter_map(|tokens| Some(tokens.as_array()?.len())).sum();
        let usage = json!({ "prompt_tokens": count, "total_tokens": count });
        assert_eq!(of_texts.json()["usage"], usage, "special tokens are counted");
        assert_eq!((&of_texts.json()["object"], &of_texts.json()["model"]), (&json!("list"), &json!("tiny")));
        let counted = engine.metric("prompt_tokens_total");
        assert!((counted - 2.0 * f64::from(u32::try_from(count).expect("few"))).abs() < 0.5, "{counted}");
        assert!(
            (engine.metric("request_success_total{model_name=\"tiny\",finished_reason=\"stop\"") - 2.0).abs()
                < 0.5
        );
    }
}

#[test]
fn company_does_not_change_a_vector() {
    for name in NAMES {
        let cases = cases(name);
        let texts: Vec<&Value> = cases.iter().map(|case| &case["text"]).collect();
        let mut far: f64 = 0.0;
        let together = start(name, &["--parallel", "8"]);
        let alone = start(name, &["--parallel", "1"]);
        let answers: Vec<Vec<Vec<f64>>> = thread::scope(|scope| {
            let ask = |count: usize| {
                let mut inputs = texts.clone();
                inputs.extend(std::iter::repeat_n(texts[0], count));
                let fields = json!({ "input": inputs });
                let together = &together;
                scope.spawn(move || vectors(&post(together, &fields)))
            };
            let asked: Vec<_> = (0..12).map(ask).collect();
            asked.into_iter().map(|answer| answer.join().expect("an answer")).collect()
        });
        for (place, text) in texts.iter().enumerate() {
            let own = vectors(&post(&alone, &json!({ "input": text })));
            for answer in &answers {
                far = far.max(distance(&answer[place], &own[0]));
            }
        }
        println!("{name}: {far:e} between alone and in company");
        assert!(far < 1e-3, "{name}: {far}");
    }
}

#[test]
fn a_vector_can_be_cut_and_told_in_base64() {
    let engine = start("tiny-bert", &[]);
    let ask = |fields: Value| {
        let mut body = json!({ "input": "the night" });
        body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        post(&engine, &body)
    };
    let whole = vectors(&ask(json!({}))).remove(0);
    let length = |vector: &[f64]| vector.iter().map(|number| number * number).sum::<f64>().sqrt();
    assert_eq!(whole.len(), 32);
    assert!((length(&whole) - 1.0).abs() < 1e-5);
    let cut = vectors(&ask(json!({ "dimensions": 8 }))).remove(0);
    let scaled: Vec<f64> = whole[..8].iter().map(|number| number / length(&whole[..8])).collect();
    assert!(distance(&cut, &scaled) < 1e-5);
    let told = ask(json!({ "encoding_format": "base64" })).json();
    let bytes = STANDARD.decode(told["data"][0]["embedding"].as_str().expect("a text")).expect("Base64");
    let read = |four: &[u8]| f64::from(f32::from_le_bytes(four.try_into().expect("four bytes")));
    assert!(distance(&bytes.chunks(4).map(read).collect::<Vec<_>>(), &whole) < 1e-6);
}

#[test]
fn inputs_that_cannot_be_embedded_are_refused() {
    let engine = start("tiny-bert", &["--context", "16"]);
    let error = |fields: Value| post(&engine, &fields).error();
    let expect = |status: u16, code: &str, param: &str| (status, code.to_owned(), param.to_owned());
    for (fields, expected) in [
        (json!({}), expect(400, "", "")),
        (json!({ "input": [] }), expect(400, "", "input")),
        (json!({ "input": ["the", ""] }), expect(400, "", "input[1]")),
        (json!({ "input": "a ".repeat(15) }), expect(400, "context_length_exceeded", "input[0]")),
        (
            json!({ "input": ["a", "a".repeat(1_000_000)] }),
            expect(400, "context_length_exceeded", "input[1]"),
        ),
        (json!({ "input": vec![5; 17] }), expect(400, "context_length_exceeded", "input[0]")),
        (json!({ "input": [[5], [100_000]] }), expect(400, "", "input[1]")),
        (json!({ "input": "a", "dimensions": 33 }), expect(400, "", "dimensions")),
        (json!({ "input": "a", "encoding_format": "int8" }), expect(400, "", "encoding_format")),
        (json!({ "input": "a", "truncate": true }), expect(400, "unsupported_parameter", "truncate")),
        (json!({ "input": "a", "model": "other" }), expect(404, "model_not_found", "model")),
    ] {
        assert_eq!(error(fields.clone()), expected, "{fields}");
    }
    assert_eq!(vectors(&post(&engine, &json!({ "input": ["a ".repeat(14), "a"] }))).len(), 2);
    assert_eq!(vectors(&post(&engine, &json!({ "input": vec![5; 16] }))).len(), 1);
}

#[test]
fn a_model_answers_for_what_it_is_for() {
    let unsupported = (404, "unsupported_endpoint".to_owned(), String::new());
    let embedding = start("tiny-bert", &["--context", "64"]);
    assert_eq!(embedding.post(&chat("hi", &json!({}))).error(), unsupported);
    let list = embedding.request("GET", "/v1/models", KEY, "").json();
    assert_eq!(list["data"][0]["max_model_len"], 64);
    let chatting = Engine::start(&[]);
    assert_eq!(post(&chatting, &json!({ "input": "a" })).error(), unsupported);
    let without_key = chatting.request("POST", "/v1/embeddings", "", "{}");
    assert_eq!(without_key.status, 401);
}

#[test]
fn a_client_that_leaves_stops_its_request() {
    let mut engine = start("tiny-qwen3", &["--parallel", "1"]);
    let body = json!({ "model": "tiny", "input": vec!["x".repeat(1_000); 2_048] }).to_string();
    let stream = engine.send(&message("POST", "/v1/embeddings", KEY, &body));
    assert!(poll(|| engine.metric("num_requests_running") > 0.5));
    drop(stream);
    let aborted = "request_success_total{model_name=\"tiny\",finished_reason=\"abort\"";
    assert!(poll(|| engine.metric(aborted) > 0.5));
    assert_eq!(vectors(&post(&engine, &json!({ "input": "night" }))).len(), 1);
    let _stream = engine.send(&message("POST", "/v1/embeddings", KEY, &body));
    assert!(poll(|| engine.metric("num_requests_running") > 0.5));
    drop(engine.stdin.take());
    assert!(engine.child.wait().expect("an end").success());
}

#[test]
fn a_model_that_ranks_is_refused_with_a_sentence() {
    let ranks = ("bert.pooling_type", 4, &4_u32.to_le_bytes()[..]);
    let (code, log) = Model::changed("ranks", &path("tiny-bert"), &[ranks]).refusal();
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("it ranks texts"), "{log}");
}

#[test]
fn an_input_of_one_long_word_is_tokenized() {
    let model = Model::with_regular_expressions("word-input", &path("tiny-qwen3"), "qwen3");
    let engine = Engine::start_with(model.path(), &["--context", "65536"]);
    let refused = post(&engine, &json!({ "input": "a".repeat(400_000) }));
    assert_eq!(refused.status, 400, "{}", refused.body);
    assert!(!refused.body.contains("has more"), "it was refused by its length: {}", refused.body);
    assert_eq!(vectors(&post(&engine, &json!({ "input": "night" }))).len(), 1);
}
