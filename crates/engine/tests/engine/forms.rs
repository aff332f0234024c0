//! Answers of a given form, by the model in the box, which never saw JSON.

use std::thread;

use serde_json::{Value, json};

use crate::support::Engine;

fn ticket() -> Value {
    json!({
        "type": "object", "additionalProperties": false, "required": ["title", "priority", "customer", "tags"],
        "properties": {
            "title": {"type": "string", "maxLength": 24},
            "priority": {"enum": ["low", "normal", "high"]},
            "customer": {
                "type": "object", "additionalProperties": false, "required": ["name", "age"],
                "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 120}},
            },
            "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 8}},
        },
    })
}

fn fits(answer: &Value) -> bool {
    let is_short = |value: &Value, most| value.as_str().is_some_and(|text| text.chars().count() <= most);
    let keys = answer.as_object().map_or(0, serde_json::Map::len);
    keys == 4
        && is_short(&answer["title"], 24)
        && ["low", "normal", "high"].contains(&answer["priority"].as_str().unwrap_or_default())
        && is_short(&answer["customer"]["name"], 12)
        && answer["customer"]["age"].as_u64().is_some_and(|age| age <= 120)
        && answer["tags"]
            .as_array()
            .is_some_and(|tags| tags.len() <= 2 && tags.iter().all(|tag| is_short(tag, 8)))
}

#[test]
fn every_answer_fits_a_nested_schema_whatever_is_asked() {
    let engine = Engine::start(&[]);
    let ask = |worker: usize| {
        for number in 0..10 {
            let question = format!("Tell me about number {worker} {number}.");
            let format = json!({"type": "json_schema", "json_schema": {"name": "ticket", "strict": true, "schema": ticket()}});
            let fields =
                json!({"max_tokens": 600, "temperature": 1.3, "seed": number, "response_format": format});
            let answer = engine.ask(&question, &fields);
            let choice = &answer["choices"][0];
            assert_eq!(choice["finish_reason"], "stop", "{answer}");
            let text = choice["message"]["content"].as_str().expect("a text");
            let formed: Value = serde_json::from_str(text).unwrap_or_else(|fault| panic!("{fault}: {text}"));
            assert!(fits(&formed), "{formed}");
        }
    };
    thread::scope(|scope| (0..8).for_each(|worker| drop(scope.spawn(move || ask(worker)))));
}

#[test]
fn a_form_that_cannot_be_served_is_the_clients_to_mend() {
    let engine = Engine::start(&[]);
    for (fields, expected) in [
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}}}),
            "nonsense",
        ),
        (json!({"structured_outputs": {"choice": ["a"]}}), "json_object are served here"),
        (json!({"grammar": "root ::= [a-z]"}), "grammar is not served here"),
    ] {
        let mut body = json!({"model": "tiny", "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
        let answer = engine.post(&body.to_string());
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains(expected), "{}", answer.body);
    }
}
