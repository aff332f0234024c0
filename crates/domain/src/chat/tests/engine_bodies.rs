use super::super::engine_body;
use crate::json::Json;

fn check(stored: &str, sent: &str) {
    let stored = Json::from_stored(stored.as_bytes()).expect("UTF-8");
    assert_eq!(engine_body(stored, "org/Llama \"8B\"", 512).as_str(), sent);
}

#[test]
fn the_model_is_renamed_and_a_limit_is_always_sent() {
    check(
        r#"{"model":"llama","messages":[{"role":"user","content":"\u0041"}],"seed":1.50}"#,
        r#"{"model":"org/Llama \"8B\"","messages":[{"role":"user","content":"\u0041"}],"seed":1.50,"max_tokens":512}"#,
    );
    check(
        r#"{"max_tokens":7,"model":"llama","x":{"model":"y"}}"#,
        r#"{"max_tokens":7,"model":"org/Llama \"8B\"","x":{"model":"y"}}"#,
    );
}

#[test]
fn the_engine_is_not_asked_to_stream() {
    check(
        r#"{"stream":true,"max_tokens":7,"stream_options":{"include_usage":true},"n":null}"#,
        r#"{"max_tokens":7,"n":null}"#,
    );
}

#[test]
fn the_limit_goes_out_under_one_name() {
    check(r#"{"max_completion_tokens":9,"n":2}"#, r#"{"n":2,"max_tokens":9}"#);
    check(r#"{"max_completion_tokens":9,"max_tokens":9}"#, r#"{"max_tokens":9}"#);
    check(r#"{"max_tokens":null,"max_completion_tokens":9}"#, r#"{"max_tokens":9}"#);
    check(r#"{"max_tokens":null,"max_completion_tokens":null}"#, r#"{"max_tokens":512}"#);
    check(r#"{"max\u005ftokens":9}"#, r#"{"max\u005ftokens":9}"#);
}
