use super::super::parse_completion;
use crate::answers::{BadCompletion, Usage};

const USAGE: &str = r#""usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#;

fn answer(choices: &str, rest: &str) -> String {
    format!(r#"{{"id":"x","object":"chat.completion","model":"org/M","choices":{choices},{rest}}}"#)
}

fn check_retried(answer: &str) {
    let error = parse_completion(answer.as_bytes(), "m").expect_err(answer);
    assert!(matches!(error, BadCompletion::NotACompletion { .. }), "{error}");
}

fn check_bad_usage(usage: &str) {
    let answer = answer(r#"[{"message":{}}]"#, usage);
    let error = parse_completion(answer.as_bytes(), "m").expect_err(usage);
    assert!(matches!(error, BadCompletion::BadUsage(_)), "{error}");
}

#[test]
fn a_completion_keeps_everything_but_white_space_and_the_model() {
    let raw =
        answer("[ {\"message\" : {\"role\":\"assistant\",\"content\":\"a\\n b\"},\n\"x\":1.0} ]", USAGE);
    let completion = parse_completion(raw.as_bytes(), "mine").expect("a completion");
    let kept = answer(r#"[{"message":{"role":"assistant","content":"a\n b"},"x":1.0}]"#, USAGE);
    assert_eq!(completion.body.as_str(), kept.replace("org/M", "mine"));
    assert_eq!(
        completion.usage,
        Usage { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, cached_tokens: None }
    );
    assert_eq!((completion.usage.cost(), completion.usage.tokens()), (3 + 2 * 5, 3 + 5));
}

#[test]
fn cached_tokens_are_read_where_they_are_told_and_never_more_than_the_prompt_has() {
    for (details, cached) in [
        (r#"{"cached_tokens":2}"#, Some(2)),
        (r#"{"cached_tokens":9}"#, Some(3)),
        (r#"{"cached_tokens":-1}"#, None),
        (r#"{"cached_tokens":"2"}"#, None),
        ("{}", None),
        ("null", None),
    ] {
        let usage = USAGE.replace("\"total", &format!("\"prompt_tokens_details\":{details},\"total"));
        let completion =
            parse_completion(answer(r#"[{"message":{}}]"#, &usage).as_bytes(), "m").expect(details);
        assert_eq!(completion.usage.cached_tokens, cached, "{details}");
    }
}

#[test]
fn a_completion_without_a_model_gets_one() {
    let raw = format!(r#"{{"object":"chat.completion","choices":[{{"message":{{}}}}],{USAGE}}}"#);
    let completion = parse_completion(raw.as_bytes(), "mine").expect("a completion");
    assert!(completion.body.as_str().ends_with(r#","model":"mine"}"#));
}

#[test]
fn anything_else_is_worth_another_try() {
    check_retried("");
    check_retried("<html>busy</html>");
    check_retried("[]");
    check_retried(r#"{"error":{"message":"overloaded"}}"#);
    check_retried(&answer("[]", USAGE));
    check_retried(&answer("{}", USAGE));
    check_retried(&answer(r#"[{"message":{}},{"text":"a"}]"#, USAGE));
    check_retried(&answer(r#"[{"message":"a"}]"#, USAGE));
    check_retried(&answer(r#"[{"message":{}}]"#, USAGE).replace("chat.completion", "text_completion"));
    check_retried(&answer(r#"[{"message":{}}]"#, USAGE).replace("\"object\"", "\"objects\""));
    check_retried(&answer(r#"[{"message":{}}]"#, &format!("{USAGE},{USAGE}")));
    check_retried(&answer(
        &format!("[{{\"message\":{{}},\"x\":{}1{}}}]", "[".repeat(70), "]".repeat(70)),
        USAGE,
    ));
}

#[test]
fn usage_that_cannot_be_charged_fails_at_once() {
    check_bad_usage("\"x\":1");
    check_bad_usage("\"usage\":null");
    check_bad_usage("\"usage\":{}");
    for bad in ["-1", "1.0", "1e1", "\"1\"", "null", "9223372036854775808"] {
        check_bad_usage(&format!(
            r#""usage":{{"prompt_tokens":{bad},"completion_tokens":1,"total_tokens":1}}"#
        ));
        check_bad_usage(&format!(
            r#""usage":{{"prompt_tokens":1,"completion_tokens":{bad},"total_tokens":1}}"#
        ));
    }
    check_bad_usage(r#""usage":{"prompt_tokens":1,"completion_tokens":1}"#);
    check_bad_usage(
        r#""usage":{"prompt_tokens":1,"prompt_tokens":2,"completion_tokens":1,"total_tokens":1}"#,
    );
}
