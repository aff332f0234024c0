use super::{EmbeddingBody, inputs_asked, parse_embeddings};
use crate::answers::{BadCompletion, Reader, Usage};
use crate::bodies::{Inputs, Sizing};
use crate::faults::Faults;
use crate::json::{Json, minimize};
use crate::limits::Limits;
use crate::money::TokenBound;

const SIZING: Sizing = Sizing { default_max_tokens: 100, image_tokens: 1_024, bytes_per_token: 2 };

fn parse(fields: &str) -> Result<EmbeddingBody, Faults> {
    let text = minimize(format!(r#"{{"model":"m",{fields}}}"#).as_bytes(), 1).expect("well-formed");
    EmbeddingBody::parse(text.as_json(), "request_body", &Limits::default())
}

fn faults_of(fields: &str) -> Vec<String> {
    let faults = parse(fields).expect_err(fields);
    faults.kept().iter().map(|fault| format!("{} {}", fault.param, fault.code)).collect()
}

#[test]
fn an_input_is_a_text_or_tokens_or_up_to_2_048_of_either() {
    for (input, count) in [(r#""a""#, 1), (r#"["a","b"]"#, 2), ("[1,2]", 1), ("[[1,2],[3]]", 2)] {
        let body = parse(&format!(r#""input":{input}"#)).expect(input);
        assert_eq!(body.inputs.count, count, "{input}");
        assert_eq!(inputs_asked(body.body.as_json()), count, "{input}");
    }
    let inputs = |count: usize| format!(r#""input":[{}]"#, vec!["\"a\""; count].join(","));
    assert_eq!(
        parse(&inputs(2_048)).map(|body| body.inputs),
        Ok(Inputs { count: 2_048, text_bytes: 3 * 2_048, token_count: 0 })
    );
    assert_eq!(faults_of(&inputs(2_049)), ["request_body.input out_of_range"]);
    assert_eq!(faults_of(r#""input":[]"#), ["request_body.input wrong_type"]);
    assert_eq!(faults_of(r#""prompt":"a""#), ["request_body.input missing"]);
    assert_eq!(inputs_asked(Json::from_stored(b"{}").expect("UTF-8")), 1);
}

#[test]
fn vectors_come_as_numbers_or_as_base64_and_never_as_events() {
    for fields in [
        r#""encoding_format":"float","dimensions":256,"user":"u""#,
        r#""encoding_format":"base64","stream":false"#,
        r#""encoding_format":null,"dimensions":null"#,
    ] {
        parse(&format!(r#""input":"a",{fields}"#)).expect(fields);
    }
    for (fields, fault) in [
        (r#""encoding_format":"bytes""#, "encoding_format unknown_value"),
        (r#""encoding_format":1"#, "encoding_format wrong_type"),
        (r#""dimensions":0"#, "dimensions out_of_range"),
        (r#""dimensions":1.5"#, "dimensions wrong_type"),
        (r#""stream":true"#, "stream not_allowed"),
        (r#""priority":1"#, "priority not_allowed"),
        (r#""Input":"b""#, "Input not_allowed"),
    ] {
        assert_eq!(faults_of(&format!(r#""input":"a",{fields}"#)), [format!("request_body.{fault}")]);
    }
}

#[test]
fn the_input_alone_is_held() {
    let body = parse(r#""input":["once","upon"]"#).expect("a body");
    assert_eq!(body.token_bound(&SIZING), TokenBound { input: 6 + 2 * 4, output: 0 });
    assert_eq!(body.estimate_cost(), 12 / 4);
    let tokens = parse(r#""input":[[1,2],[3]]"#).expect("a body");
    assert_eq!(tokens.token_bound(&SIZING), TokenBound { input: 3 + 2 * 4, output: 0 });
}

#[test]
fn an_answer_is_a_list_with_a_vector_for_each_input_and_no_output() {
    let answer =
        |data: &str, usage: &str| format!(r#"{{"object":"list","data":{data},"model":"x","usage":{usage}}}"#);
    let two = r#"[{"object":"embedding","index":0,"embedding":[0.5]},{"index":1,"embedding":"AAA="}]"#;
    for usage in [
        r#"{"prompt_tokens":7,"total_tokens":7}"#,
        r#"{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0}"#,
        r#"{"prompt_tokens":7,"total_tokens":9,"completion_tokens":2}"#,
    ] {
        let list = parse_embeddings(answer(two, usage).as_bytes(), Reader::CHARGED, 2).expect(usage);
        assert_eq!(list.body.as_str(), answer(two, usage).replace(r#""model":"x""#, r#""model":"m""#));
        let Usage { prompt_tokens, completion_tokens, .. } = list.usage;
        assert_eq!((prompt_tokens, completion_tokens, list.usage.cost(), list.usage.tokens()), (7, 0, 7, 7));
    }
    let usage = r#"{"prompt_tokens":7,"total_tokens":7}"#;
    for (data, asked) in [
        (two, 3),
        ("[]", 1),
        ("{}", 1),
        (r#"[{"embedding":null}]"#, 1),
        (r#"[{"object":"embedding"}]"#, 1),
        ("[[0.5]]", 1),
    ] {
        let error = parse_embeddings(answer(data, usage).as_bytes(), Reader::CHARGED, asked).expect_err(data);
        assert!(matches!(error, BadCompletion::NotACompletion(_)), "{error}");
    }
    for usage in [r#"{"prompt_tokens":7}"#, r#"{"total_tokens":7.0}"#] {
        let list = parse_embeddings(answer(two, usage).as_bytes(), Reader::CHARGED, 2).expect(usage);
        assert_eq!((list.usage.prompt_tokens, list.usage.total_tokens), (7, 7), "{usage}");
    }
    for usage in ["null", "{}", r#"{"prompt_tokens":-1,"total_tokens":7}"#] {
        let error = parse_embeddings(answer(two, usage).as_bytes(), Reader::CHARGED, 2).expect_err(usage);
        assert!(matches!(error, BadCompletion::NoUsage(_)), "{error}");
    }
}
