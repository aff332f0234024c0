use super::super::{CacheSalt, LimitField, engine_body, has_output_limit, output_limit};
use crate::json::Json;
use crate::scheduler::AccountKey;

fn check(stored: &str, sent: &str) {
    let stored = Json::from_stored(stored.as_bytes()).expect("UTF-8");
    assert_eq!(engine_body(stored, "org/Llama \"8B\"", Some(512), None, None).as_str(), sent);
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
fn the_limit_goes_out_once_under_the_name_of_the_client() {
    check(r#"{"max_completion_tokens":9,"n":2}"#, r#"{"n":2,"max_completion_tokens":9}"#);
    check(r#"{"max_completion_tokens":9,"max_tokens":9}"#, r#"{"max_tokens":9}"#);
    check(r#"{"max_tokens":null,"max_completion_tokens":9}"#, r#"{"max_completion_tokens":9}"#);
    check(r#"{"max_tokens":null,"max_completion_tokens":null}"#, r#"{"max_tokens":512}"#);
    check(r#"{"max\u005ftokens":9}"#, r#"{"max\u005ftokens":9}"#);
}

#[test]
fn the_limit_goes_out_under_the_name_that_the_engine_takes() {
    use LimitField::{MaxCompletionTokens, MaxTokens};
    for (stored, field, limit, own) in [
        (r#"{"max_completion_tokens":9}"#, MaxTokens, r#""max_tokens":9"#, Some((MaxCompletionTokens, 9))),
        (r#"{"max_tokens":9}"#, MaxCompletionTokens, r#""max_completion_tokens":9"#, Some((MaxTokens, 9))),
        (
            r#"{"max_tokens":9,"max_completion_tokens":9}"#,
            MaxCompletionTokens,
            r#""max_completion_tokens":9"#,
            Some((MaxTokens, 9)),
        ),
        (
            r#"{"max_completion_tokens":9,"max_tokens":9}"#,
            MaxTokens,
            r#""max_tokens":9"#,
            Some((MaxTokens, 9)),
        ),
        ("{}", MaxCompletionTokens, r#""max_completion_tokens":7"#, None),
        ("{}", MaxTokens, r#""max_tokens":7"#, None),
    ] {
        let body = Json::from_stored(stored.as_bytes()).expect("UTF-8");
        assert_eq!(
            engine_body(body, "m", Some(7), Some(field), None).as_str(),
            format!("{{{limit}}}"),
            "{stored}"
        );
        assert_eq!(output_limit(body), own, "{stored}");
        assert_eq!(field.other().other(), field);
    }
}

#[test]
fn a_limit_of_ours_may_be_left_out_and_the_clients_own_never_is() {
    for (stored, sent, is_own) in [
        (r#"{"n":2}"#, r#"{"n":2}"#, false),
        (r#"{"max_tokens":null,"max_completion_tokens":null}"#, "{}", false),
        (r#"{"max_completion_tokens":9}"#, r#"{"max_completion_tokens":9}"#, true),
        (r#"{"max\u005ftokens":9}"#, r#"{"max\u005ftokens":9}"#, true),
    ] {
        let stored = Json::from_stored(stored.as_bytes()).expect("UTF-8");
        assert_eq!(engine_body(stored, "m", None, None, None).as_str(), sent);
        assert_eq!(has_output_limit(stored), is_own);
    }
}

fn salted(stored: &str, account: i64) -> String {
    let stored = Json::from_stored(stored.as_bytes()).expect("UTF-8");
    let salt = CacheSalt::new(&[7; 32], AccountKey(account));
    engine_body(stored, "m", Some(9), None, Some(&salt)).as_str().to_owned()
}

#[test]
fn a_salt_is_added_and_stands_once() {
    let salt = CacheSalt::new(&[7; 32], AccountKey(5));
    let plain = salt.render(None);
    let expected = format!(r#"{{"n":2,"max_tokens":9,"cache_salt":"{plain}"}}"#);
    for stored in [r#"{"n":2}"#, r#"{"cache_salt":null,"n":2}"#] {
        assert_eq!(salted(stored, 5), expected, "{stored}");
    }
    let own = Json::from_stored(br#""x""#).expect("UTF-8");
    let expected = format!(r#"{{"n":2,"max_tokens":9,"cache_salt":"{}"}}"#, salt.render(Some(own)));
    assert_eq!(salted(r#"{"cache_salt":"x","n":2}"#, 5), expected);
    assert_eq!(salted(r#"{"cache\u005fsalt":"x","n":2}"#, 5), expected);
}

#[test]
fn a_clients_salt_reaches_no_other_account() {
    let stored = r#"{"cache_salt":"x"}"#;
    assert_ne!(salted(stored, 5), salted(stored, 6));
    assert!(!salted(stored, 5).contains(r#""x""#));
}

#[test]
fn without_a_salt_of_the_accounts_the_clients_is_passed_on() {
    check(r#"{"cache_salt":"x","max_tokens":7}"#, r#"{"cache_salt":"x","max_tokens":7}"#);
}
