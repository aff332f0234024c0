use super::{accept, faults_of, parse, with};
use crate::bodies::{Sizing, refused_fields};
use crate::faults::Faults;
use crate::limits::Limits;
use crate::money::TokenBound;

const SIZING: Sizing = Sizing { default_max_tokens: 4_096, image_tokens: 1_024, bytes_per_token: 2 };

#[test]
fn a_model_and_a_message_are_enough() {
    let body = accept(r#" { "model" : "llama" , "messages" : [ {"role": "user", "content": "hi"} ] } "#);
    assert_eq!((body.model.as_str(), body.n, body.max_output_tokens), ("llama", 1, None));
    assert_eq!((body.message_count, body.image_count), (1, 0));
    assert_eq!(body.input_bytes, r#"[{"role":"user","content":"hi"}]"#.len());
    assert_eq!(body.body.as_str(), r#"{"model":"llama","messages":[{"role":"user","content":"hi"}]}"#);
}

#[test]
fn the_documented_fields_reach_to_their_bounds() {
    accept(&with(
        r#""temperature":0,"top_p":0.0,"frequency_penalty":-2,"presence_penalty":-2.0,"n":1,"max_tokens":1"#,
    ));
    accept(&with(r#""temperature":2.0,"top_p":1e0,"frequency_penalty":2,"presence_penalty":2,"n":128"#));
    let body = accept(&with(r#""max_tokens":2147483647,"n":7,"logprobs":true,"stream":true"#));
    assert_eq!((body.max_output_tokens, body.n), (Some(2_147_483_647), 7));
    accept(&with(r#""response_format":{"type":"text"}"#));
    accept(&with(r#""response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{}}}"#));
}

#[test]
fn null_in_an_optional_field_is_as_absent() {
    let fields = "temperature top_p frequency_penalty presence_penalty n max_tokens max_completion_tokens logprobs \
                  response_format stream stream_options tools seed n_predict store";
    for field in fields.split_whitespace() {
        let body = accept(&with(&format!("\"{field}\":null")));
        assert_eq!((body.n, body.max_output_tokens), (1, None), "{field}");
    }
}

#[test]
fn the_output_limit_has_two_names() {
    assert_eq!(accept(&with(r#""max_completion_tokens":9"#)).max_output_tokens, Some(9));
    assert_eq!(accept(&with(r#""max_tokens":9,"max_completion_tokens":9"#)).max_output_tokens, Some(9));
    assert_eq!(accept(&with(r#""max_tokens":null,"max_completion_tokens":9"#)).max_output_tokens, Some(9));
    assert_eq!(
        faults_of(&with(r#""max_tokens":8,"max_completion_tokens":9"#)),
        ["request_body.max_completion_tokens conflict"]
    );
}

#[test]
fn unlisted_fields_are_kept_as_they_are() {
    let body =
        with(r#""seed":9223372036854775808,"stop":["\u0041"],"tools":[{"type":"function"}],"Zebra":1.50"#);
    assert_eq!(accept(&body).body.as_str(), body);
    for kept in [
        "user",
        "ignore_eos",
        "min_tokens",
        "top_k",
        "logit_bias",
        "tool_choice",
        "reasoning_effort",
        "samplers",
    ] {
        accept(&with(&format!("\"{kept}\":1")));
    }
}

#[test]
fn content_may_be_missing_only_beside_tool_calls() {
    let message = |message: &str| format!(r#"{{"model":"m","messages":[{message}]}}"#);
    accept(&message(r#"{"role":"assistant","tool_calls":[{"id":"a"}]}"#));
    accept(&message(r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a"}]}"#));
    accept(&message(r#"{"role":"tool","content":"","tool_call_id":"a"}"#));
    accept(&message(r#"{"role":"developer","content":[{"type":"text","text":"a"}]}"#));
    for bad in [
        r#"{"role":"assistant"}"#,
        r#"{"role":"assistant","tool_calls":[]}"#,
        r#"{"role":"user","tool_calls":[{}]}"#,
    ] {
        assert_eq!(faults_of(&message(bad)), ["request_body.messages[0].content missing"], "{bad}");
    }
    assert_eq!(
        faults_of(&message(r#"{"role":"assistant","content":null}"#)),
        ["request_body.messages[0].content wrong_type"]
    );
}

#[test]
fn the_operator_may_allow_a_refused_field() {
    let limits = Limits { allow_fields: vec!["priority".to_owned()], ..Limits::default() };
    assert!(parse(&with(r#""priority":1"#), &limits).is_ok());
    assert!(parse(&with(r#""priority":1,"store":true"#), &limits).is_err());
    assert!(parse(&with(r#""Priority":1"#), &limits).is_err());
}

#[test]
fn the_table_of_refused_fields_is_sorted_and_folded() {
    let fields = refused_fields();
    assert!(fields.is_sorted_by(|left, right| left.name < right.name));
    for field in fields {
        assert_eq!(field.name, field.name.to_lowercase());
        assert_eq!(
            faults_of(&with(&format!("\"{}\":1", field.name))),
            [format!("request_body.{} not_allowed", field.name)]
        );
    }
}

#[test]
fn the_cost_weighs_output_twice() {
    let logprobs = |fields: &str| accept(&with(fields)).logprobs;
    assert_eq!(logprobs(r#""logprobs":true,"top_logprobs":20"#), 21);
    assert_eq!(logprobs(r#""logprobs":true"#), 1);
    assert_eq!(logprobs(r#""logprobs":false,"top_logprobs":20"#), 0);
    let body = accept(&with(r#""max_tokens":100,"n":3"#));
    assert_eq!(body.input_bytes, 32);
    assert_eq!(body.estimate_cost(&SIZING), 8 + 2 * 300);
    assert_eq!(accept(&with(r#""seed":1"#)).estimate_cost(&SIZING), 8 + 2 * 4_096);
    assert_eq!(accept(&with(r#""max_tokens":2147483647,"n":128"#)).estimate_cost(&SIZING), u32::MAX);
}

#[test]
fn a_hold_counts_bytes_messages_media_and_every_completion() {
    let body = accept(&with(r#""max_tokens":100,"n":3"#));
    assert_eq!(body.token_bound(&SIZING), TokenBound { input: 16 + 32, output: 300 });
    assert_eq!(body.token_bound(&Sizing { bytes_per_token: 1, ..SIZING }).input, 32 + 32);
    assert_eq!(accept(&with(r#""seed":1"#)).token_bound(&SIZING).output, 4_096);
    let image = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}"#;
    let with_image =
        accept(&format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{image}]}}]}}"#));
    assert!((1_024 + 32..1_024 + 32 + 64).contains(&with_image.token_bound(&SIZING).input));
}

#[test]
fn an_answer_that_must_be_too_long_is_refused_by_its_log_probabilities() {
    let faults = |fields: &str| {
        let mut faults = Faults::default();
        accept(&with(fields)).check_answer_size(&SIZING, "request_body", &mut faults);
        faults.is_empty()
    };
    assert!(!faults(r#""n":128,"max_tokens":120,"logprobs":true,"top_logprobs":20"#));
    assert!(faults(r#""n":128,"max_tokens":120,"top_logprobs":20"#), "there are none without logprobs");
    assert!(faults(r#""logprobs":true,"top_logprobs":20"#), "with the model's own limit");
    assert!(faults(r#""n":64,"logprobs":true"#) && !faults(r#""n":65,"logprobs":true"#));
    assert!(faults(r#""max_tokens":2147483647,"n":128"#));
}
