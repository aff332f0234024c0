mod forms;
mod tools;
mod unsupported;

use minijinja::Value;

use super::{ChatRequest, Refusal, parse};
use crate::{sampling::TokenSet, scheduler::Generation};

fn body(fields: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{fields}}}"#)
}

fn request(fields: &str) -> ChatRequest {
    parse(body(fields).as_bytes(), 100, 42).expect("a request")
}

fn read(fields: &str) -> Generation {
    request(fields).generation
}

fn check_refused(fields: &str, param: &str) {
    assert_eq!(refusal(&body(fields)).param.as_deref(), Some(param), "{fields}");
}

fn refusal(body: &str) -> Refusal {
    parse(body.as_bytes(), 100, 42).expect_err("a refusal")
}

#[test]
fn defaults_are_openais() {
    let generation = read("");
    assert_eq!((generation.choices, generation.tokens_max, generation.logprobs), (1, usize::MAX, None));
    assert_eq!((generation.sampling.temperature, generation.sampling.top_p), (1.0, 1.0));
    assert_eq!(generation.sampling.seed, 42);
}

#[test]
fn parameters_are_read_and_unknown_ones_passed_over() {
    let generation = read(
        r#","n":3,"max_tokens":7,"max_completion_tokens":7,"temperature":0,"top_p":0.5,"top_k":-1,"min_p":0.1,
        "seed":-1,"stop":["a","b"],"logprobs":true,"top_logprobs":2,"logit_bias":{"7":-100},"ignore_eos":true,
        "presence_penalty":-2,"frequency_penalty":2,"stream":false,"user":"u","response_format":{"type":"text"}"#,
    );
    assert_eq!((generation.choices, generation.tokens_max, generation.logprobs), (3, 7, Some(2)));
    assert_eq!(generation.stops, ["a", "b"]);
    assert_eq!(generation.sampling.bias, [(7, -100.0)]);
    assert_eq!((generation.sampling.top_k, generation.sampling.seed), (0, u64::MAX));
    assert!(generation.ignores_end);
    assert_eq!(read(r#","stop":"end""#).stops, ["end"]);
    let others = read(
        r#","min_tokens":2,"stop_token_ids":[3],"allowed_token_ids":[4,99],"repeat_penalty":1.5,
        "include_stop_str_in_output":true"#,
    );
    assert_eq!((others.tokens_min, others.stop_tokens, others.keeps_stop), (2, vec![3], true));
    assert_eq!(others.allowed, Some(TokenSet::of(&[4, 99], 100)));
    assert!((others.sampling.repetition_penalty - 1.5).abs() < 1e-6);
    assert_eq!(read(r#","max_tokens":null,"stop":null,"n":null"#).choices, 1);
}

#[test]
fn what_is_out_of_bounds_names_its_field() {
    for (fields, param) in [
        (r#","n":0"#, "n"),
        (r#","n":129"#, "n"),
        (r#","max_tokens":0"#, "max_tokens"),
        (r#","max_tokens":1,"max_completion_tokens":2"#, "max_completion_tokens"),
        (r#","temperature":2.1"#, "temperature"),
        (r#","top_p":-0.1"#, "top_p"),
        (r#","top_k":-2"#, "top_k"),
        (r#","min_p":1.5"#, "min_p"),
        (r#","presence_penalty":3"#, "presence_penalty"),
        (r#","repetition_penalty":0"#, "repetition_penalty"),
        (r#","top_logprobs":2"#, "top_logprobs"),
        (r#","logprobs":true,"top_logprobs":21"#, "top_logprobs"),
        (r#","stop":"""#, "stop"),
        (r#","logit_bias":{"100":1}"#, "logit_bias"),
        (r#","logit_bias":{"x":1}"#, "logit_bias"),
        (r#","logit_bias":{"1":101}"#, "logit_bias"),
        (r#","stream":true"#, "stream"),
        (r#","max_tokens":3,"min_tokens":4"#, "min_tokens"),
        (r#","stop_token_ids":[100]"#, "stop_token_ids"),
        (r#","stop_token_ids":[-1]"#, "stop_token_ids"),
        (r#","allowed_token_ids":[]"#, "allowed_token_ids"),
        (r#","allowed_token_ids":[5,100]"#, "allowed_token_ids"),
        (r#","repeat_penalty":11"#, "repeat_penalty"),
        (r#","repeat_penalty":1.1,"repetition_penalty":1.2"#, "repeat_penalty"),
    ] {
        check_refused(fields, param);
    }
}

#[test]
fn a_body_of_another_shape_is_refused_in_words() {
    for text in ["", "[]", "{", r#"{"model":"m"}"#, r#"{"messages":[]}"#, &body(r#","n":"two""#)] {
        assert!(refusal(text).message.starts_with("The body is no valid"), "{text}");
    }
    assert!(refusal(&body(r#","stop":5"#)).message.contains("stop is a string or a list of strings"));
}

#[test]
fn content_is_a_string_or_text_parts_and_other_fields_stay() {
    let read = |message: &str| {
        let body = format!(r#"{{"model":"m","messages":[{message}]}}"#);
        parse(body.as_bytes(), 100, 0).expect("a request").messages.remove(0)
    };
    let content = |message: &str| read(message).get_attr("content").expect("content");
    let parts = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#;
    assert_eq!(content(parts), Value::from("ab"));
    let calling = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}"#;
    assert_eq!(content(calling), Value::from(""));
    assert!(read(calling).get_attr("tool_calls").expect("calls").is_true());
}

#[test]
fn a_message_at_fault_is_named_by_its_place() {
    let check = |message: &str, param: &str| {
        let good = r#"{"role":"user","content":"hi"}"#;
        let body = format!(r#"{{"model":"m","messages":[{good},{message}]}}"#);
        assert_eq!(refusal(&body).param.as_deref(), Some(param), "{message}");
    };
    check("5", "messages[1]");
    check(r#"{"content":"x"}"#, "messages[1].role");
    check(r#"{"role":"","content":"x"}"#, "messages[1].role");
    check(r#"{"role":"user"}"#, "messages[1].content");
    check(r#"{"role":"assistant","content":null}"#, "messages[1].content");
    check(r#"{"role":"user","content":[{"type":"image_url"}]}"#, "messages[1].content[0]");
    assert_eq!(refusal(r#"{"model":"m","messages":[]}"#).param.as_deref(), Some("messages"));
}
