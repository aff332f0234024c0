//! Model files whose chat templates would take the memory, the stack or the time of the engine.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use crate::{
    models::Model,
    support::{Engine, MODEL, chat, poll},
};

/// A copy of the included model with another template.
fn model(name: &str, template: &str) -> Model {
    let mut bytes = fs::read(MODEL).expect("the model");
    let key = b"tokenizer.chat_template";
    let at = bytes.windows(key.len()).position(|found| found == key).expect("its template");
    // After the key: the type and the length, then the text.
    let length_at = at + key.len() + 4;
    let length = u64::from_le_bytes(bytes[length_at..length_at + 8].try_into().expect("8 bytes"));
    let length = usize::try_from(length).expect("a length");
    let mut text = template.as_bytes().to_vec();
    // The tensors stay where the alignment of 32 bytes has them.
    text.resize(text.len() + (length % 32 + 32 - text.len() % 32) % 32, b' ');
    let new = [&(text.len() as u64).to_le_bytes()[..], &text].concat();
    bytes.splice(length_at..length_at + 8 + length, new);
    Model::new(name, &bytes)
}

#[test]
fn templates_that_take_too_much_memory_or_time_are_refused_and_the_engine_goes_on() {
    let cases = [
        (
            "doubled",
            "{% set it = namespace(s='0123456789abcdef') %}{% for i in range(60) %}{% set it.s = it.s ~ it.s %}{% endfor %}{{ it.s }}",
        ),
        (
            "added",
            "{% set it = namespace(s='0123456789abcdef') %}{% for i in range(60) %}{% set it.s = it.s + it.s %}{% endfor %}{{ it.s }}",
        ),
        ("indented", "{{ 'x'|indent(2000000000) }}"),
        ("formatted", "{{ '%999999999d'|format(1) }}"),
        ("joined", "{{ (range(90000)|list)|join('x' * 100000) }}"),
        ("replaced", "{{ ('x' * 90000)|replace('x', 'y' * 100000) }}"),
        ("repeated", "{{ 'x' * 99000000 }}"),
        ("listed", "{{ ([1] * 99000000)|list|length }}"),
        (
            "captured",
            "{% set s %}{% for i in range(90000) %}{{ 'x' * 100000 }}{% endfor %}{% endset %}{{ s|length }}",
        ),
        (
            "nested",
            "{% set it = namespace(s=[1]) %}{% for i in range(60) %}{% set it.s = [it.s, it.s] %}{% endfor %}{{ it.s == [it.s] or it.s|tojson }}",
        ),
        (
            "deep",
            "{% set it = namespace(s=[1]) %}{% for i in range(90000) %}{% set it.s = [[[[it.s]]]] %}{% endfor %}{{ it.s|length }}",
        ),
    ];
    let branch = |(name, hostile): &(&str, &str)| {
        format!("{{% if messages[0].content == '{name}' %}}{hostile}{{% endif %}}")
    };
    let template: String = cases.iter().map(branch).collect();
    let model = model("costly", &format!("{template}{{{{ messages[0].content }}}}"));
    let engine = Engine::start_with(model.path(), &[]);
    for (name, _) in cases {
        let answer = engine.post(&chat(name, &json!({ "max_tokens": 1 })));
        let expected = (400, "conversation_too_complex".to_owned(), "messages".to_owned());
        assert_eq!(answer.error(), expected, "{name}: {}", answer.body);
        engine.ask("hi", &json!({ "max_tokens": 1 }));
    }
}

#[test]
fn templates_that_nest_too_deeply_end_the_engine_with_a_sentence() {
    let deep = 200_000;
    for (name, template) in [
        ("signs", format!("{{{{ {}1 }}}}", "-".repeat(deep))),
        ("nots", format!("{{{{ {}1 }}}}", "not ".repeat(deep))),
        ("attributes", format!("{{{{ messages{} }}}}", ".a".repeat(deep))),
        ("filters", format!("{{{{ 1{} }}}}", "|string".repeat(deep))),
        ("brackets", format!("{{{{ {}{} }}}}", "(".repeat(deep), ")".repeat(deep))),
        ("items", format!("{{{{ messages{} }}}}", "[0]".repeat(deep))),
        ("sums", format!("{{{{ 1{} }}}}", "+1".repeat(deep))),
    ] {
        let (code, log) = model(name, &template).refusal();
        assert_eq!(code, Some(1), "{name}: {log}");
        assert!(log.contains("the model's chat template cannot be read: "), "{name}: {log}");
    }
}

#[test]
fn words_of_a_template_are_cut() {
    let model = model("words", "{{ raise_exception('x' * 5000) }}");
    let engine = Engine::start_with(model.path(), &[]);
    let answer = engine.post(&chat("hi", &json!({})));
    assert_eq!(answer.error(), (400, String::new(), "messages".to_owned()));
    let message = answer.json()["error"]["message"].as_str().expect("a message").to_owned();
    let expected = format!("The model's chat template refuses the conversation: {}.", "x".repeat(1_000));
    assert_eq!(message, expected);
}

#[cfg(target_os = "linux")]
#[test]
fn processes_that_render_are_replaced_and_end_with_the_engine() {
    let mut engine = Engine::start(&[]);
    let [first] = engine.processes("render-chats").try_into().expect("one process");
    engine.ask("hi", &json!({ "max_tokens": 1 }));
    assert_eq!(engine.processes("render-chats"), [first.as_str()]);
    let killed = Command::new("kill").args(["-9", &first]).status().expect("a kill");
    assert!(killed.success());
    // Perhaps the system needed its memory: the client may try again.
    let answer = engine.post(&chat("hi", &json!({ "max_tokens": 1 })));
    assert_eq!(answer.error(), (503, "engine_full".to_owned(), String::new()));
    engine.ask("hi", &json!({ "max_tokens": 1 }));
    let [second] = engine.processes("render-chats").try_into().expect("one process");
    assert_ne!(second, first);
    engine.child.kill().expect("a kill");
    assert!(poll(|| !Path::new("/proc").join(&second).join("exe").exists()), "it stays");
}
