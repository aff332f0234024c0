use serde_json::{Value, json};

use super::{check_refused, request};
use crate::constraint::{Form, Shape};

fn form(fields: &Value) -> Option<Form> {
    let fields = fields.to_string();
    request(&format!(",{}", &fields[1..fields.len() - 1])).form
}

fn check(fields: &Value, field: &'static str) {
    assert_eq!(form(fields), Some(Form::schema(json!({ "type": "object", "b": 1, "a": 2 }), field)));
}

#[test]
fn every_dialects_schema_is_read() {
    let schema = json!({ "type": "object", "b": 1, "a": 2 });
    let named = json!({ "name": "answer", "strict": true, "description": "x", "schema": schema });
    check(&json!({ "response_format": { "type": "json_schema", "json_schema": named } }), "response_format");
    check(&json!({ "response_format": { "type": "json_object", "schema": schema } }), "response_format");
    check(&json!({ "structured_outputs": { "json": schema } }), "structured_outputs");
    check(&json!({ "structured_outputs": { "json": schema.to_string() } }), "structured_outputs");
    check(&json!({ "guided_json": schema }), "guided_json");
    check(&json!({ "json_schema": schema }), "json_schema");
}

#[test]
fn expressions_choices_and_grammars_of_every_dialect_are_read() {
    let (regex, lark) = (Shape::Regex("a+".into()), Shape::Lark("start: \"a\"".into()));
    let choice = Shape::Choice(vec!["a".into(), "b".into()]);
    for (fields, shape, field) in [
        (json!({ "structured_outputs": { "regex": "a+" } }), &regex, "structured_outputs"),
        (json!({ "guided_regex": "a+" }), &regex, "guided_regex"),
        (json!({ "regex": "a+" }), &regex, "regex"),
        (json!({ "structured_outputs": { "choice": ["a", "b"] } }), &choice, "structured_outputs"),
        (json!({ "guided_choice": ["a", "b"] }), &choice, "guided_choice"),
        (json!({ "structured_outputs": { "grammar": "start: \"a\"" } }), &lark, "structured_outputs"),
        (json!({ "guided_grammar": "start: \"a\"" }), &lark, "guided_grammar"),
    ] {
        assert_eq!(form(&fields), Some(Form { shape: shape.clone(), field }), "{fields}");
    }
}

#[test]
fn any_object_is_a_form_and_text_is_none() {
    let object = json!({ "type": "object" });
    for fields in [
        json!({ "response_format": { "type": "json_object" } }),
        json!({ "structured_outputs": { "json_object": true } }),
    ] {
        assert_eq!(form(&fields).map(|form| form.shape), Some(Shape::Schema(object.clone())), "{fields}");
    }
    for fields in [
        json!({ "response_format": { "type": "text" } }),
        json!({ "response_format": null, "guided_json": null, "structured_outputs": null }),
        json!({ "structured_outputs": {} }),
    ] {
        assert_eq!(form(&fields), None, "{fields}");
    }
}

#[test]
fn a_form_that_is_not_served_names_its_field() {
    for (fields, param) in [
        (r#","response_format":{"type":"grammar"}"#, "response_format"),
        (r#","response_format":{"type":"json_schema"}"#, "response_format.json_schema"),
        (
            r#","response_format":{"type":"json_schema","json_schema":{"name":"x"}}"#,
            "response_format.json_schema",
        ),
        (
            r#","response_format":{"type":"json_schema","json_schema":{"name":"","schema":{}}}"#,
            "response_format.json_schema",
        ),
        (r#","structured_outputs":{"structural_tag":{}}"#, "structured_outputs.structural_tag"),
        (r#","structured_outputs":{"regex":"a","choice":["b"]}"#, "structured_outputs"),
        (r#","guided_regex":"a","structured_outputs":{"regex":"a"}"#, "guided_regex"),
        (r#","grammar":"root ::= x""#, "grammar"),
        (r#","ebnf":"root ::= x""#, "ebnf"),
        (r#","guided_json":"{""#, "guided_json"),
        (r#","guided_json":{},"response_format":{"type":"json_object"}"#, "guided_json"),
        (r#","guided_json":{},"allowed_token_ids":[1]"#, "allowed_token_ids"),
    ] {
        check_refused(fields, param);
    }
}
