use super::{CompletionBody, choices_asked, for_one_choice, parse_completion};
use crate::answers::{BadCompletion, Reader};
use crate::bodies::{Inputs, Sizing};
use crate::faults::Faults;
use crate::json::{Json, minimize};
use crate::limits::Limits;
use crate::money::TokenBound;

const SIZING: Sizing = Sizing { default_max_tokens: 100, image_tokens: 1_024, bytes_per_token: 2 };

fn parse(fields: &str) -> Result<CompletionBody, Faults> {
    let text = minimize(format!(r#"{{"model":"m",{fields}}}"#).as_bytes(), 1).expect("well-formed");
    CompletionBody::parse(text.as_json(), "request_body", &Limits::default())
}

fn accept(fields: &str) -> CompletionBody {
    parse(fields).expect(fields)
}

/// The faults as `param code`.
fn faults_of(fields: &str) -> Vec<String> {
    let faults = parse(fields).expect_err(fields);
    let told = faults.kept().iter().map(|fault| {
        let param = fault.param.strip_prefix("request_body.").unwrap_or(&fault.param);
        format!("{param} {}", fault.code)
    });
    told.collect()
}

#[test]
fn a_prompt_is_a_text_or_tokens_or_several_of_either() {
    for (prompt, count, text_bytes, token_count) in [
        (r#""once""#, 1, 6, 0),
        (r#""""#, 1, 2, 0),
        (r#"["once","upon"]"#, 2, 12, 0),
        ("[1,20,300]", 1, 0, 3),
        ("[[1,20],[300]]", 2, 0, 3),
    ] {
        let body = accept(&format!(r#""prompt":{prompt}"#));
        assert_eq!(body.prompts, Inputs { count, text_bytes, token_count }, "{prompt}");
        assert_eq!(body.completions as usize, count);
    }
    for (prompt, fault) in [
        ("null", "prompt wrong_type"),
        ("7", "prompt wrong_type"),
        ("{}", "prompt wrong_type"),
        ("[]", "prompt wrong_type"),
        ("[null]", "prompt wrong_type"),
        (r#"["a",1]"#, "prompt[1] wrong_type"),
        (r#"[1,"a"]"#, "prompt[1] wrong_type"),
        ("[1,-1]", "prompt[1] wrong_type"),
        ("[1,1.0]", "prompt[1] wrong_type"),
        ("[1,4294967296]", "prompt[1] wrong_type"),
        ("[[1],[]]", "prompt[1] wrong_type"),
        ("[[1],[[2]]]", "prompt[1][0] wrong_type"),
    ] {
        assert_eq!(faults_of(&format!(r#""prompt":{prompt}"#)), [fault], "{prompt}");
    }
    assert_eq!(faults_of(r#""n":1"#), ["prompt missing"]);
}

#[test]
fn there_are_128_completions_at_most() {
    let prompts = |count: usize| format!(r#""prompt":[{}]"#, vec!["\"a\""; count].join(","));
    assert_eq!(accept(&format!(r#"{},"n":2"#, prompts(64))).completions, 128);
    assert_eq!(faults_of(&format!(r#"{},"n":2"#, prompts(65))), ["n out_of_range"]);
    assert_eq!(accept(&prompts(128)).completions, 128);
    assert_eq!(faults_of(&prompts(129)), ["prompt out_of_range"]);
    assert_eq!(faults_of(&format!(r#"{},"n":128"#, prompts(129))), ["prompt out_of_range"]);
    assert_eq!(faults_of(r#""prompt":"a","n":129"#), ["n out_of_range"]);
}

#[test]
fn fields_have_the_rules_of_chat_but_for_those_that_mean_something_else() {
    accept(
        r#""prompt":"a","echo":true,"suffix":"b","logprobs":0,"stop":"x","seed":7,"temperature":2,"stream":false"#,
    );
    accept(r#""prompt":"a","echo":null,"suffix":null,"logprobs":null,"best_of":null"#);
    assert_eq!(
        faults_of(
            r#""prompt":"a","best_of":2,"echo":1,"suffix":2,"logprobs":true,"temperature":3,"prompt_logprobs":1,"N":2"#
        ),
        [
            "suffix wrong_type",
            "logprobs wrong_type",
            "temperature out_of_range",
            "echo wrong_type",
            "best_of not_allowed",
            "prompt_logprobs not_allowed",
            "N not_allowed"
        ]
    );
    assert_eq!(faults_of(r#""prompt":"a","logprobs":-1"#), ["logprobs out_of_range"]);
    assert_eq!(faults_of(r#""prompt":"a","max_tokens":0"#), ["max_tokens out_of_range"]);
    assert_eq!(faults_of(r#""prompt":"a","Prompt":"b""#), ["Prompt not_allowed"]);
}

#[test]
fn a_request_is_held_for_its_prompts_and_for_every_completion() {
    let body = accept(r#""prompt":["once","upon"],"suffix":"b","n":3"#);
    // 12 bytes of prompts and 3 of the suffix, with 4 tokens a prompt.
    assert_eq!(body.token_bound(&SIZING), TokenBound { input: 8 + 2 * 4, output: 6 * 100 });
    assert_eq!(body.estimate_cost(&SIZING), 15 / 4 + 2 * 6 * 100);
    let tokens = accept(r#""prompt":[1,2,3],"max_tokens":9"#);
    assert_eq!(tokens.token_bound(&SIZING), TokenBound { input: 3 + 4, output: 9 });
    assert_eq!((tokens.max_tokens(&SIZING), tokens.estimate_cost(&SIZING)), (9, 3 + 18));
}

#[test]
fn an_answer_that_would_be_too_long_is_refused() {
    let check = |fields: &str| {
        let mut faults = Faults::default();
        accept(fields).check_answer_size(&SIZING, "request_body", &mut faults);
        faults.kept().iter().map(|fault| fault.param.clone()).collect::<Vec<_>>()
    };
    assert_eq!(check(r#""prompt":"a","max_tokens":1000000,"n":128"#), Vec::<String>::new());
    assert_eq!(check(r#""prompt":"a","max_tokens":131072,"logprobs":1"#), Vec::<String>::new());
    assert_eq!(check(r#""prompt":"a","max_tokens":131073,"logprobs":1"#), ["request_body.logprobs"]);
    let long = "x".repeat(1 << 20);
    assert_eq!(check(&format!(r#""prompt":"{long}","echo":true,"n":15"#)), Vec::<String>::new());
    assert_eq!(check(&format!(r#""prompt":"{long}","echo":true,"n":16"#)), ["request_body.echo"]);
    assert_eq!(check(&format!(r#""prompt":"{long}","echo":true,"logprobs":1"#)), ["request_body.logprobs"]);
}

#[test]
fn a_body_is_taken_apart_into_its_completions() {
    for (stored, asked, third) in [
        (r#"{"prompt":"a","n":3,"seed":1}"#, (1, 3), r#"{"prompt":"a","seed":3}"#),
        (r#"{"prompt":["a","b"],"n":2,"seed":1}"#, (2, 2), r#"{"prompt":"b","seed":1}"#),
        (r#"{"prompt":[[1],[2],[3]]}"#, (3, 1), r#"{"prompt":[3]}"#),
        (r#"{"prompt":[1,2],"n":3}"#, (1, 3), r#"{"prompt":[1,2]}"#),
    ] {
        let body = Json::from_stored(stored.as_bytes()).expect("UTF-8");
        assert_eq!(choices_asked(body), asked, "{stored}");
        assert_eq!(for_one_choice(body, 2).as_str(), third);
    }
}

#[test]
fn an_answer_is_a_text_completion_whose_usage_can_be_charged() {
    const USAGE: &str = r#""usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#;
    let answer = |object: &str, choices: &str, usage: &str| {
        format!(r#"{{"object":"{object}","model":"x","choices":{choices},{usage}}}"#)
    };
    let good = answer("text_completion", r#"[{"text":"a","index":0}]"#, USAGE);
    let completion = parse_completion(good.as_bytes(), Reader::CHARGED).expect("a completion");
    assert_eq!(completion.body.as_str(), good.replace(r#""model":"x""#, r#""model":"m""#));
    assert_eq!((completion.usage.prompt_tokens, completion.usage.completion_tokens), (3, 5));
    for bad in [
        answer("text_completion", "[]", USAGE),
        answer("text_completion", r#"[{"message":{}}]"#, USAGE),
        answer("text_completion", r#"[{"text":null}]"#, USAGE),
    ] {
        let error = parse_completion(bad.as_bytes(), Reader::CHARGED).expect_err(&bad);
        assert!(matches!(error, BadCompletion::NotACompletion(_)), "{error}");
        assert!(error.to_string().starts_with("the engine's answer is not a text_completion object: "));
    }
    let named_otherwise = answer("chat.completion", r#"[{"text":"a","index":0}]"#, USAGE);
    let completion = parse_completion(named_otherwise.as_bytes(), Reader::CHARGED).expect("a completion");
    assert_eq!(completion.body.as_str(), good.replace(r#""model":"x""#, r#""model":"m""#));
    let bad = answer("text_completion", r#"[{"text":"a"}]"#, r#""usage":{"prompt_tokens":3}"#);
    assert!(matches!(parse_completion(bad.as_bytes(), Reader::CHARGED), Err(BadCompletion::NoUsage(_))));
}
