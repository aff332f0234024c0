use super::{faults_of, parse, with};
use crate::chat::ChatBody;
use crate::faults::FAULTS_KEPT_MAX;
use crate::json::minimize;
use crate::limits::Limits;

#[test]
fn every_fault_is_reported_with_its_path() {
    let body = r#"{"model":"","messages":[{"role":"robot","content":7},5,{"content":"a"}],"temperature":2.1,"top_p":"1",
        "frequency_penalty":-2.5,"presence_penalty":true,"n":129,"max_tokens":0,"logprobs":1,"top_logprobs":-1,"stream":"no",
        "response_format":{"type":4},"best_of":2,"extra_headers":{}}"#;
    assert_eq!(
        faults_of(body),
        [
            "request_body.model out_of_range",
            "request_body.messages[0].role unknown_value",
            "request_body.messages[0].content wrong_type",
            "request_body.messages[1] wrong_type",
            "request_body.messages[2].role missing",
            "request_body.max_tokens out_of_range",
            "request_body.n out_of_range",
            "request_body.top_logprobs wrong_type",
            "request_body.temperature out_of_range",
            "request_body.top_p wrong_type",
            "request_body.frequency_penalty out_of_range",
            "request_body.presence_penalty wrong_type",
            "request_body.logprobs wrong_type",
            "request_body.stream wrong_type",
            "request_body.response_format.type wrong_type",
            "request_body.best_of not_allowed",
            "request_body.extra_headers not_allowed",
        ]
    );
}

#[test]
fn model_and_messages_are_required() {
    assert_eq!(faults_of("{}"), ["request_body.model missing", "request_body.messages missing"]);
    assert_eq!(
        faults_of(r#"{"model":null,"messages":null}"#),
        ["request_body.model wrong_type", "request_body.messages wrong_type"]
    );
    assert_eq!(faults_of(r#"{"model":"m","messages":[]}"#), ["request_body.messages out_of_range"]);
    assert_eq!(faults_of("[]"), ["request_body wrong_type"]);
    assert_eq!(faults_of(&with(r#""response_format":{}"#)), ["request_body.response_format.type missing"]);
    assert_eq!(faults_of(&with(r#""response_format":"text""#)), ["request_body.response_format wrong_type"]);
}

#[test]
fn integers_are_spelt_as_integers_and_bounded() {
    for (text, code) in [
        ("1.0", "wrong_type"),
        ("1e2", "wrong_type"),
        ("\"5\"", "wrong_type"),
        ("-1", "out_of_range"),
        ("-0", "out_of_range"),
        ("2147483648", "out_of_range"),
        ("99999999999999999999", "out_of_range"),
    ] {
        assert_eq!(
            faults_of(&with(&format!("\"max_tokens\":{text}"))),
            [format!("request_body.max_tokens {code}")]
        );
        assert_eq!(faults_of(&with(&format!("\"n\":{text}"))), [format!("request_body.n {code}")]);
    }
}

#[test]
fn two_parsers_cannot_read_two_requests() {
    assert_eq!(
        faults_of(&with(r#""max_tokens":1,"max\u005ftokens":100000"#)),
        ["request_body.max_tokens duplicate_key"]
    );
    assert_eq!(
        faults_of(r#"{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}"#),
        ["request_body.messages[0].content duplicate_key"]
    );
    for hidden in ["Max_Tokens", "MODEL", "max_to\u{212a}ens", "\u{17f}tream", "N_Predict"] {
        let fault = faults_of(&with(&format!("\"{hidden}\":9")));
        assert_eq!(fault, [format!("request_body.{hidden} not_allowed")]);
    }
    assert_eq!(
        faults_of(r#"{"model":"m","messages":[{"role":"user","content":"a","Content":"b"}]}"#),
        ["request_body.messages[0].Content not_allowed"]
    );
}

#[test]
fn a_template_argument_cannot_replace_the_template() {
    super::accept(&with(r#""chat_template_kwargs":{"enable_thinking":false}"#));
    assert_eq!(
        faults_of(&with(r#""chat_template_kwargs":{"chat_template":"{{ x }}"}"#)),
        ["request_body.chat_template_kwargs.chat_template not_allowed"]
    );
}

#[test]
fn a_refusal_says_why_and_who_may_allow_it() {
    let faults = parse(&with(r#""n_predict":9"#), &Limits::default()).expect_err("refused");
    let message = &faults.kept()[0].message;
    assert!(message.contains("max_tokens") && message.contains("limits.allow_fields"), "{message}");
}

#[test]
fn hostile_bodies_yield_bounded_faults() {
    let many = format!(r#"{{"model":"m","messages":[{}{{}}]}}"#, "{},".repeat(50_000));
    let faults = parse(&many, &Limits::default()).expect_err("refused");
    assert_eq!((faults.total(), faults.kept().len()), (100_002, FAULTS_KEPT_MAX));
    let key = "K".repeat(1 << 20);
    let faults = parse(&with(&format!("\"{key}\":1,\"{key}\":2")), &Limits::default()).expect_err("refused");
    assert!(faults.kept()[0].param.len() < 100);
}

#[test]
fn a_body_at_the_root_has_bare_paths() {
    let text = minimize(b"{\"model\":1}", 0).expect("well-formed");
    let faults = ChatBody::parse(text.as_json(), "", &Limits::default()).expect_err("refused");
    assert_eq!(faults.kept()[0].param, "model");
}

/// A stored body must fit into that of Create Request, in which it may be sent again; other dialects have it at the outermost level.
#[test]
fn what_could_not_be_sent_again_is_nested_too_deep() {
    let parse = |levels: usize| {
        let text = with(&format!("\"x\":{}\"[{{\"{}", "[".repeat(levels), "]".repeat(levels)));
        let body = minimize(text.as_bytes(), 0).expect("well-formed");
        ChatBody::parse(body.as_json(), "request_body", &Limits::default())
    };
    assert!(parse(62).is_ok());
    let faults = parse(63).expect_err("too deep");
    assert_eq!((&*faults.kept()[0].param, faults.kept()[0].code), ("request_body.x", "too_deep"));
}
