use std::collections::BTreeMap;
use std::thread;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::{Engine, chat};

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "title": { "type": "string", "maxLength": 20 },
            "parts": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": { "$ref": "#/$defs/part" },
            },
        },
        "required": ["title", "parts"],
        "additionalProperties": false,
        "$defs": {
            "part": {
                "type": "object",
                "properties": { "kind": { "enum": ["one", "other"] }, "size": { "type": "integer", "maximum": 9999, "minimum": 0 } },
                "required": ["kind", "size"],
                "additionalProperties": false,
            },
        },
    })
}

fn formed(schema: &Value) -> Value {
    let named = json!({ "name": "answer", "strict": true, "schema": schema });
    json!({ "response_format": { "type": "json_schema", "json_schema": named } })
}

fn with(fields: Value, further: &Value) -> Value {
    let mut fields = fields;
    fields.as_object_mut().expect("fields").extend(further.as_object().expect("fields").clone());
    fields
}

fn content(answer: &Value) -> Value {
    let text = answer["choices"][0]["message"]["content"].as_str().expect("a text");
    serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text:?}"))
}

fn check(value: &Value) {
    assert_eq!(value.as_object().map(serde_json::Map::len), Some(2), "{value}");
    assert!(value["title"].as_str().is_some_and(|title| title.chars().count() <= 20), "{value}");
    let parts = value["parts"].as_array().expect("parts");
    assert!((1..=3).contains(&parts.len()), "{value}");
    for part in parts {
        assert_eq!(part.as_object().map(serde_json::Map::len), Some(2), "{value}");
        assert!(part["kind"] == "one" || part["kind"] == "other", "{value}");
        assert!(part["size"].as_u64().is_some_and(|size| size <= 9_999), "{value}");
    }
}

#[test]
fn answers_are_valid_under_their_schema_amid_free_ones() {
    let engine = Engine::start(&[]);
    let fields = with(formed(&schema()), &json!({ "temperature": 1.5, "max_tokens": 400 }));
    thread::scope(|scope| {
        for number in 0..24 {
            let (engine, fields) = (&engine, &fields);
            scope.spawn(move || match number % 3 {
                0 => drop(engine.ask("Tell me.", &json!({ "max_tokens": 30 }))),
                _ => {
                    let answer = engine.ask(&format!("Describe {number}."), fields);
                    assert_eq!(answer["choices"][0]["finish_reason"], "stop", "{answer}");
                    check(&content(&answer));
                }
            });
        }
    });
}

#[test]
fn a_json_object_is_one_object_and_nothing_else() {
    let engine = Engine::start(&[]);
    let fields = json!({ "response_format": { "type": "json_object" }, "n": 8, "temperature": 1, "seed": 3, "max_tokens": 300 });
    let answer = engine.ask("An object, please.", &fields);
    for choice in answer["choices"].as_array().expect("choices") {
        let text = choice["message"]["content"].as_str().expect("a text");
        match choice["finish_reason"].as_str() {
            Some("stop") => {
                // RFC 8259 does not limit numbers, and this model writes some that exceed a double.
                let object = serde_json::from_str::<BTreeMap<String, &RawValue>>(text);
                assert!(object.is_ok(), "{object:?} in {text}");
            }
            _ => {
                assert_eq!((choice["finish_reason"].as_str(), text.starts_with('{')), (Some("length"), true));
            }
        }
    }
}

#[test]
fn an_answer_cut_in_the_middle_of_its_form_ends_by_length() {
    let engine = Engine::start(&[]);
    let answer = engine.ask("Describe.", &with(formed(&schema()), &json!({ "max_tokens": 4 })));
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    assert_eq!(answer["usage"]["completion_tokens"], 4);
}

#[test]
fn a_schema_that_cannot_be_kept_to_is_the_clients_fault() {
    let engine = Engine::start(&[]);
    for schema in [json!({ "type": "foo" }), json!({ "not": {} }), json!(5), json!({ "$ref": "#/nowhere" })] {
        let refused = engine.post(&chat("hi", &formed(&schema)));
        assert_eq!(refused.error(), (400, String::new(), "response_format".to_owned()), "{schema}");
    }
    let deep = (0..200).fold("{}".to_owned(), |inner, _| format!("{{\"items\":{inner}}}"));
    let deep = chat("hi", &formed(&json!("SCHEMA"))).replace("\"SCHEMA\"", &deep);
    assert_eq!(engine.post(&deep).status, 400);
    assert_eq!(engine.post(&chat("hi", &json!({ "max_tokens": 1 }))).status, 200);
}

fn tools() -> Value {
    let kind = json!({ "kind": { "$ref": "#/$defs/kind" } });
    let parameters = json!({
        "type": "object", "properties": kind, "required": ["kind"], "additionalProperties": false,
        "$defs": { "kind": { "enum": ["one", "other"] } },
    });
    json!([
        { "type": "function", "function": { "name": "first", "parameters": parameters } },
        { "type": "function", "function": { "name": "second", "parameters": parameters } },
    ])
}

fn check_call(answer: &Value, names: &[&str]) {
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &json!(null))
    );
    let calls = choice["message"]["tool_calls"].as_array().expect("calls");
    assert_eq!((calls.len(), calls[0]["type"].as_str()), (1, Some("function")), "{answer}");
    assert!(calls[0]["id"].as_str().is_some_and(|id| id.starts_with("call_")), "{answer}");
    let function = &calls[0]["function"];
    assert!(function["name"].as_str().is_some_and(|name| names.contains(&name)), "{answer}");
    let arguments = function["arguments"].as_str().expect("a string");
    let arguments: Value = serde_json::from_str(arguments).expect("JSON");
    assert!(arguments == json!({ "kind": "one" }) || arguments == json!({ "kind": "other" }), "{answer}");
}

#[test]
fn a_forced_call_is_answered_as_a_call() {
    let engine = Engine::start(&[]);
    let fields = |choice: Value| json!({ "tools": tools(), "tool_choice": choice, "max_tokens": 100 });
    check_call(&engine.ask("Call one.", &fields(json!("required"))), &["first", "second"]);
    let named = json!({ "type": "function", "function": { "name": "second" } });
    check_call(&engine.ask("Call one.", &fields(named.clone())), &["second"]);
    let cut = engine.ask("Call one.", &with(fields(named), &json!({ "max_tokens": 1 })));
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    let free = engine.ask("Call one.", &fields(json!("none")));
    assert!(free["choices"][0]["message"]["content"].is_string(), "{free}");
    assert!(free["choices"][0]["message"].get("tool_calls").is_none(), "{free}");
}
