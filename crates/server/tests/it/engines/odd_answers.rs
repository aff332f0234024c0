//! Byte-exact answers of faulty engines and gateways.

use overnight_domain::answers::Completion;
use overnight_domain::scheduler::{AttemptError, ProbeOutcome};
use overnight_testkit::engine::{Behaviour, Canned, Fault, FaultRates, SimEngine};
use serde_json::Value;

use super::answers::told;
use super::{ask, client_of, simulate, simulate_with_client};

const CHOICE: &str =
    r#"{"index":0,"message":{"role":"assistant","content":"hi"},"logprobs":null,"finish_reason":"stop"}"#;
const USAGE: &str = r#"{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#;

/// A fixed answer for all calls of the test.
fn canned(status: u16, headers: &'static [(&'static str, &'static str)], body: impl Into<Vec<u8>>) -> Fault {
    let body: &'static [u8] = Vec::leak(body.into());
    Fault::Canned(Canned { status, headers, body })
}

fn whole() -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion","created":1,"model":"theirs","choices":[{CHOICE}],"usage":{USAGE}}}"#
    )
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn give(engine: &SimEngine, fault: Fault) {
    engine.tune(|tunables| tunables.faults = FaultRates::none().with(fault, 1.0));
}

async fn answered(fault: Fault) -> Result<Completion, AttemptError> {
    let engine = simulate(|_| {});
    give(&engine, fault);
    let outcome = ask(&client_of(&engine), "hello").await;
    // The engine may refuse a field for our limit.
    let may_be_of_limit = matches!(outcome, Err(AttemptError::Status { code: 400 | 422, .. }));
    assert_eq!(engine.attempts_of("hello"), if may_be_of_limit { 2 } else { 1 });
    outcome
}

#[tokio::test]
async fn an_answer_that_is_readable_is_taken_after_one_call() {
    let odd = [
        ("a byte order mark", canned(200, &[], format!("\u{feff}{}", whole()))),
        ("gzip without a header", canned(200, &[], gzip(&whole()))),
        ("gzip", canned(200, &[("content-encoding", "gzip")], gzip(&whole()))),
        ("a stale header", canned(200, &[("content-encoding", "gzip")], whole())),
        ("no object", canned(200, &[], whole().replace(r#""object":"chat.completion","#, ""))),
        (
            "an event",
            canned(
                200,
                &[("content-type", "text/event-stream")],
                format!("data: {}\n\ndata: [DONE]\n\n", whole()),
            ),
        ),
        ("floats", canned(200, &[], whole().replace("3,", "3.0,").replace(":8}", ":8.0}"))),
    ];
    for (name, fault) in odd {
        let completion = answered(fault).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let body: Value = serde_json::from_str(completion.body.as_str()).unwrap();
        let usage: Value = serde_json::from_str(USAGE).unwrap();
        let text = &body["choices"][0]["message"]["content"];
        assert_eq!((text, &body["usage"]), (&"hi".into(), &usage), "{name}");
        assert_eq!(completion.warnings, [], "{name}");
    }
}

#[tokio::test]
async fn a_repaired_answer_has_a_warning_after_one_call() {
    for (name, from, to, param) in [
        ("NaN", r#""logprobs":null"#, &br#""logprobs":NaN"#[..], "result_body"),
        ("a control character", "hi", b"h\ni", "result_body"),
        ("invalid UTF-8", "hi", b"h\xff", "result_body"),
        ("a lone surrogate", "hi", br"h\udcaf", "result_body"),
        ("no finish_reason", r#""stop""#, b"null", "result_body.choices.finish_reason"),
    ] {
        let text = whole();
        let (before, after) = text.split_once(from).unwrap();
        let body = [before.as_bytes(), to, after.as_bytes()].concat();
        let completion =
            answered(canned(200, &[], body)).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let params: Vec<_> = completion.warnings.iter().map(|warning| warning.param).collect();
        assert_eq!(params, [param], "{name}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_completion_is_named() {
    let html = "<html><head><title>Sign in</title></head></html>";
    let cases = [
        (
            canned(200, &[("content-type", "text/html")], html),
            "the engine answered with an HTML page titled \"Sign in\"",
        ),
        (
            canned(200, &[], "{\"choices\":[}"),
            "the engine's answer is not JSON: at byte 12: expected a value",
        ),
        (
            canned(200, &[("content-encoding", "br")], "\u{b}\u{2}\u{80}x"),
            "the engine answered in the encoding `br`, which it was not asked for",
        ),
        (canned(200, &[], &gzip(&whole())[..40]), "the engine's answer is compressed, and damaged"),
        (
            canned(200, &[], r#"{"object":"list","data":[]}"#),
            "the engine's answer is not a chat.completion object: it has no choices",
        ),
        (canned(204, &[], ""), "the engine's answer is empty"),
    ];
    for (fault, words) in cases {
        match answered(fault).await {
            Err(AttemptError::NotACompletion(message)) => assert_eq!(message, words),
            other => panic!("{words}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_error_in_whatever_form_is_told_with_its_status_its_message_and_its_wait() {
    const WAIT: &[(&str, &str)] = &[("retry-after", "1.5")];
    const LIMITS: &[(&str, &str)] =
        &[("x-ratelimit-reset-tokens", "391ms"), ("x-ratelimit-remaining-tokens", "0")];
    let cases = [
        (
            canned(200, WAIT, r#"{"error":{"message":"slow down","code":"429"}}"#),
            (429, "slow down", Some(1_500)),
        ),
        (
            canned(200, LIMITS, r#"{"error":{"message":"slow down","code":429}}"#),
            (429, "slow down", Some(391)),
        ),
        (canned(200, &[], r#"{"object":"error","message":"too long","code":400}"#), (400, "too long", None)),
        (
            canned(200, &[], "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n"),
            (503, "overloaded", None),
        ),
        (canned(200, &[], r#"{"error":"Unexpected endpoint."}"#), (500, "Unexpected endpoint.", None)),
        (canned(429, LIMITS, r#"[{"error":{"message":"quota"}}]"#), (429, "quota", Some(391))),
        (
            canned(422, &[], r#"{"detail":[{"loc":["body","top_k"],"msg":"too small"}]}"#),
            (422, "body.top_k: too small", None),
        ),
        (
            canned(502, &[], "<html><head><title>502 Bad Gateway</title></head></html>"),
            (502, "502 Bad Gateway", None),
        ),
        (canned(500, &[], gzip(r#"{"error":{"message":"zipped"}}"#)), (500, "zipped", None)),
        (
            canned(302, &[("location", "https://sso.example/login")], ""),
            (
                302,
                "the engine redirects to another address; the operator has to correct its `base_url`",
                None,
            ),
        ),
        (canned(304, &[], ""), (304, "Not Modified", None)),
    ];
    for (fault, expected) in cases {
        match answered(fault).await {
            Err(AttemptError::Status { code, message, retry_after_ms }) => {
                assert_eq!((code, &*message, retry_after_ms), expected);
            }
            other => panic!("{expected:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_generation_that_the_engine_gave_up_is_aborted() {
    let reasons = [
        (r#""abort""#, "aborted: the engine aborted the generation (finish_reason `abort`)"),
        (
            r#"{"type":"abort","message":"Aborted by the scheduler."}"#,
            "aborted: the engine aborted the generation (finish_reason `abort`): Aborted by the scheduler.",
        ),
    ];
    for (reason, expected) in reasons {
        let fault = canned(200, &[], whole().replace(r#""stop""#, reason));
        assert_eq!(told(&answered(fault).await.unwrap_err()), expected);
    }
}

#[tokio::test]
async fn a_probe_needs_a_usage_only_if_the_model_has_a_price() {
    let (engine, client) = simulate_with_client(|_| {});
    give(&engine, Behaviour::named("gateway-no-usage").unwrap().fault);
    assert_eq!(client.probe("ours", false).await, ProbeOutcome::Healthy);
    let ProbeOutcome::Failed(words) = client.probe("ours", true).await else {
        panic!("it cannot be charged")
    };
    assert!(words.starts_with("its answers have no usage, and the model has a price"), "{words}");
    give(&engine, canned(307, &[("location", "https://h/v2")], ""));
    let ProbeOutcome::Failed(words) = client.probe("ours", false).await else { panic!("it redirects") };
    assert_eq!(words, "status 307: the engine redirects to https://h/v2; its `base_url` has to be corrected");
}
