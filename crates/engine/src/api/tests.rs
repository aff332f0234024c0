use minijinja::Value;

use super::{Refusal, parse};
use crate::scheduler::Generation;

fn body(fields: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{fields}}}"#)
}

fn read(fields: &str) -> Generation {
    parse(body(fields).as_bytes(), 100, 42).expect("a request").generation
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
        (r#","response_format":{"type":"xml"}"#, "response_format"),
        (r#","response_format":{"type":"json_schema"}"#, "response_format"),
        (r#","structured_outputs":{"regex":"a+"}"#, "structured_outputs"),
        (r#","guided_json":"{""#, "guided_json"),
        (r#","response_format":{"type":"json_object"},"guided_json":{}"#, "guided_json"),
        (r#","tool_choice":"required""#, "tool_choice"),
        (r#","tool_choice":{"type":"function","function":{"name":"f"}}"#, "tool_choice"),
        (r#","grammar":"root ::= \"a\"""#, "grammar"),
        (r#","min_tokens":5"#, "min_tokens"),
        (r#","stop_token_ids":[2]"#, "stop_token_ids"),
        (r#","mirostat":2"#, "mirostat"),
        (r#","repeat_penalty":1.1"#, "repeat_penalty"),
        (r#","continue_final_message":true"#, "continue_final_message"),
    ] {
        assert_eq!(refusal(&body(fields)).param.as_deref(), Some(param), "{fields}");
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

#[test]
fn a_form_is_read_under_each_of_its_names() {
    let read = |fields: &str| parse(body(fields).as_bytes(), 100, 0).expect("a request").form;
    let schema = serde_json::json!({"type": "array"});
    for fields in [
        r#","response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"array"}}}"#,
        r#","response_format":{"type":"json_object","schema":{"type":"array"}}"#,
        r#","structured_outputs":{"json":{"type":"array"}}"#,
        r#","guided_json":"{\"type\":\"array\"}""#,
        r#","json_schema":{"type":"array"}"#,
    ] {
        assert_eq!(read(fields).map(|form| form.schema), Some(schema.clone()), "{fields}");
    }
    for fields in
        [r#","response_format":{"type":"json_object"}"#, r#","structured_outputs":{"json_object":true}"#]
    {
        assert_eq!(
            read(fields).map(|form| form.schema),
            Some(serde_json::json!({"type": "object"})),
            "{fields}"
        );
    }
    for fields in
        ["", r#","response_format":{"type":"text"}"#, r#","json_schema":null,"structured_outputs":null"#]
    {
        assert_eq!(read(fields), None, "{fields}");
    }
}

#[test]
fn a_field_that_is_not_served_may_stand_there_with_a_value_that_asks_for_nothing() {
    read(
        r#","grammar":null,"min_tokens":0,"typical_p":1.0,"dry_multiplier":0.0,"stop_token_ids":[],"mirostat":0,"echo":false"#,
    );
    let tools = r#","tools":[{"type":"function"}]"#;
    let shown =
        |fields: &str| parse(body(&format!("{tools}{fields}")).as_bytes(), 100, 0).expect("a request").tools;
    assert!(shown("").is_true() && shown(r#","tool_choice":"auto""#).is_true());
    assert!(!shown(r#","tool_choice":"none""#).is_true());
}
