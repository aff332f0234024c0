//! Requests that would take much more than others: they fail, and only they.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
    thread,
};

use serde_json::{Map, Value, json};

use crate::{
    models::Model,
    support::{Engine, KEY, MODEL, chat, message, poll},
};

fn multiples() -> Value {
    let multiple = |place: u64| json!({ "type": "integer", "multipleOf": 9_999 - place });
    json!({ "anyOf": (0..1_500).map(multiple).collect::<Vec<_>>() })
}

fn patterns_of_names() -> Value {
    let pattern = |place: u64| (format!("^x{place}_.*a.{{10}}$"), json!({ "type": "string" }));
    json!({ "type": "object", "patternProperties": (0..800).map(pattern).collect::<Map<_, _>>() })
}

fn many_patterns() -> Value {
    let pattern =
        |place: u64| json!({ "type": "string", "pattern": format!("[a{}].{{{}}}b", place % 10, 20 + place) });
    json!({ "allOf": (0..300).map(pattern).collect::<Vec<_>>() })
}

fn remainders() -> Value {
    json!({ "allOf": [{ "type": "integer", "multipleOf": 997 }, { "multipleOf": 991 }] })
}

fn forms() -> Vec<(&'static str, Value)> {
    let complement = "start: A\nA: ~/(.*a.{40})/ & ~/(.*b.{50}.*)/ & /(.*c.{60})/";
    vec![
        ("guided_json", multiples()),
        ("guided_json", patterns_of_names()),
        ("guided_json", many_patterns()),
        ("guided_json", remainders()),
        ("guided_grammar", json!(complement)),
        ("guided_grammar", json!(ambiguous())),
    ]
}

/// Few rules, of which each place of an answer has thousands.
fn ambiguous() -> String {
    let rule = |rule: usize| format!("s{rule}: s s{} | | \"a\"", (rule * 7 + 1) % 300);
    let rules: Vec<String> = (0..300).map(rule).collect();
    let alternatives: Vec<String> = (0..300).map(|rule| format!("s s{rule} s")).collect();
    format!("start: s\ns: {} | \"a\"\n{}", alternatives.join(" | "), rules.join("\n"))
}

#[test]
fn a_form_that_costs_too_much_fails_and_other_requests_are_answered() {
    let engine = Engine::start(&[]);
    thread::scope(|scope| {
        let (engine, forms) = (&engine, forms());
        let asked: Vec<_> = forms
            .into_iter()
            .map(|(field, form)| {
                scope.spawn(move || {
                    (
                        field,
                        engine.post(&chat("hi", &json!({ field: form, "min_tokens": 32, "max_tokens": 32 }))),
                    )
                })
            })
            .collect();
        for _ in 0..20 {
            engine.ask("hi", &json!({ "max_tokens": 1 }));
            engine.ask("hi", &json!({ "max_tokens": 4, "guided_choice": ["yes", "no"] }));
            assert_eq!(engine.request("GET", "/health", "", "").status, 200);
        }
        for (field, answer) in asked.into_iter().map(|asked| asked.join().expect("an answer")) {
            let expected = (400, "form_too_complex".to_owned(), field.to_owned());
            assert_eq!(answer.error(), expected, "{}", answer.body);
        }
    });
}

/// The processes of trials that an engine has.
#[cfg(target_os = "linux")]
fn trials(engine: &Engine) -> usize {
    engine.processes("check-form").len()
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_that_leaves_ends_the_trial_of_its_form() {
    let engine = Engine::start(&[]);
    let body = chat("hi", &json!({ "guided_json": patterns_of_names() }));
    let sent: Vec<_> =
        (0..8).map(|_| engine.send(&message("POST", "/v1/chat/completions", KEY, &body))).collect();
    assert!(poll(|| trials(&engine) > 0), "no trial began");
    drop(sent);
    assert!(poll(|| trials(&engine) == 0), "a trial goes on");
    engine.ask("hi", &json!({ "max_tokens": 4, "guided_choice": ["yes", "no"] }));
    assert_eq!(trials(&engine), 0);
}

#[test]
fn the_check_of_a_form_has_a_verdict_or_is_ended() {
    let check = |form: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_overnight-engine"))
            .arg("check-form")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a process");
        child.stdin.take().expect("a pipe").write_all(form.as_bytes()).expect("taken");
        let mut verdict = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut verdict).expect("text");
        (child.wait().expect("its end").code(), verdict)
    };
    let (code, verdict) = check("schema {\"type\":\"object\"}");
    assert!(code == Some(0) && verdict.starts_with("{\"Ok\":"), "{verdict}");
    let (code, verdict) = check("regex (");
    assert!(code == Some(0) && verdict.starts_with("{\"Err\":"), "{verdict}");
    assert_eq!(check(&format!("schema {}", patterns_of_names())), (None, String::new()));
}

#[test]
fn a_control_text_in_a_message_stays_text() {
    let engine = Engine::start(&[]);
    let tokens = |content: &str| {
        let answer = engine.ask(content, &json!({ "max_tokens": 1 }));
        answer["usage"]["prompt_tokens"].as_u64().expect("a number")
    };
    let text = "<|im_end|>";
    assert!(tokens(text) >= tokens("a") + 3, "{text} is one token");
}

#[test]
fn a_prompt_of_one_long_word_is_tokenized() {
    let model = Model::with_regular_expressions("word", MODEL, "llama");
    let engine = Engine::start_with(model.path(), &["--context", "65536"]);
    for character in ["a", " ", "!", "\n"] {
        let answer = engine.post(&chat(&character.repeat(400_000), &json!({})));
        assert_eq!(answer.status, 400, "{character:?}: {}", answer.body);
        assert!(!answer.body.contains("has more"), "it was refused by its length: {}", answer.body);
    }
    // A refusal tells the number of tokens.
    let engine = Engine::start_with(model.path(), &["--context", "8192"]);
    let tokens = |count| {
        let refusal = engine.post(&chat(&" night is long".repeat(count), &json!({})));
        let number = refusal.body.split("the prompt has ").nth(1).and_then(|rest| rest.split('.').next());
        number.and_then(|number| number.parse::<usize>().ok()).expect("a number")
    };
    let [shorter, longest_whole, cut] = [2_401, 3_601, 4_801].map(tokens);
    assert_eq!(cut - longest_whole, longest_whole - shorter, "a long text has the tokens of its parts");
}
