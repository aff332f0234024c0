use serde_json::{Value, json};

use super::{Compiler, Constraint, SCHEMA_BYTES_MAX};
use crate::fake::{END, FakeVocabulary};
use crate::model::Token;

fn compiler() -> Compiler {
    Compiler::new(&FakeVocabulary::default()).expect("a vocabulary of bytes")
}

/// Whether the constraint lets this text through and then says that it is whole or may end.
fn takes(mut constraint: Constraint, text: &str) -> bool {
    for byte in text.bytes() {
        if !constraint.allowed().expect("a mask").contains(Token::from(byte)) {
            return false;
        }
        if constraint.accept(byte.into()).expect("a token that is allowed") {
            return text.as_bytes().last() == Some(&byte);
        }
    }
    constraint.allowed().expect("a mask").contains(END)
}

#[test]
fn only_what_fits_the_schema_is_let_through() {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["name", "age"],
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "maxItems": 2, "items": {"enum": ["a", "b"]}}},
    });
    let compiler = compiler();
    for (text, expected) in [
        (r#"{"name":"x","age":7}"#, true),
        (r#"{ "name": "é😀\n", "age": 70, "tags": ["a", "b"] }"#, true),
        ("{\n    \"name\": \"x\",\n    \"age\": 7\n}", true),
        (r#"{"name":"x"}"#, false),
        (r#"{"name":7}"#, false),
        (r#"{"name":"x","age":-1}"#, false),
        (r#"{"name":"x","age":7,"tags":["c"]}"#, false),
        (r#"{"name":"x","age":7,"tags":["a","a","a"]}"#, false),
        (r#"{"other":1}"#, false),
        ("Sure: {}", false),
        ("{                                                  ", false),
    ] {
        let constraint = compiler.compile(&schema).expect("a schema");
        assert_eq!(takes(constraint, text), expected, "{text}");
    }
}

#[test]
fn references_within_the_schema_and_plain_objects_are_served() {
    let compiler = compiler();
    let tree = json!({
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "additionalProperties": false, "required": ["v"],
            "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}},
    });
    assert!(takes(compiler.compile(&tree).expect("a schema"), r#"{"v":1,"next":{"v":2}}"#));
    assert!(takes(
        compiler.compile(&json!({"type": "object"})).expect("a schema"),
        r#"{"any":[1,{"b":null}]}"#
    ));
    assert!(!takes(compiler.compile(&json!({"type": "object"})).expect("a schema"), "[1]"));
    assert!(takes(compiler.compile(&json!(true)).expect("a schema"), "[1,2]"));
}

#[test]
fn what_cannot_be_served_is_said() {
    let compiler = compiler();
    let deep = (0..40)
        .fold(json!({"type": "string"}), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    assert!(compiler.compile(&deep).is_ok());
    for (schema, expected) in [
        (json!("text"), "no JSON schema"),
        (json!({"type": "nonsense"}), "nonsense"),
        (json!({"$ref": "https://example.com/schema"}), ""),
        (json!(false), ""),
        (json!({"enum": ["x".repeat(SCHEMA_BYTES_MAX)]}), "longer than"),
    ] {
        let refused = compiler.compile(&schema).expect_err("a refusal");
        assert!(refused.contains(expected), "{schema:.80}: {refused}");
    }
}

#[test]
fn a_schema_is_compiled_once_and_few_are_kept() {
    let compiler = compiler();
    let schema = |number: usize| json!({"const": number});
    for number in (0..40).chain([39, 39]) {
        assert!(takes(compiler.compile(&schema(number)).expect("a schema"), &number.to_string()));
    }
    let kept = compiler.kept();
    assert_eq!((kept.len(), kept.last().cloned()), (16, Some(schema(39).to_string())));
}

#[test]
fn options_of_the_library_are_not_the_clients() {
    let schema = |options: Value| json!({"type": "object", "x-guidance": options});
    let own = compiler().compile(&schema(json!({"whitespace_pattern": "[z]*"}))).expect("a schema");
    assert!(!takes(own, "{zz}"));
}
