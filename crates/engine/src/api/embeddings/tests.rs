use serde_json::{Value, json};

use super::{EmbeddingRequest, Input, Shape, parse, render};
use crate::api::Refusal;

const TOKENS: usize = 100;
const WIDTH: usize = 4;

fn read(fields: &Value) -> Result<EmbeddingRequest, Refusal> {
    let mut body = json!({ "model": "m", "input": "text" });
    body.as_object_mut().expect("an object").extend(fields.as_object().expect("an object").clone());
    parse(body.to_string().as_bytes(), TOKENS, WIDTH)
}

fn refused(fields: &Value) -> (Option<String>, Option<&'static str>) {
    let refusal = read(fields).expect_err("a refusal");
    (refusal.param, refusal.code)
}

#[test]
fn input_has_four_forms() {
    let text = |text: &str| Input::Text(text.to_owned());
    for (input, expected) in [
        (json!("a"), vec![text("a")]),
        (json!(["a", "b"]), vec![text("a"), text("b")]),
        (json!([1, 99]), vec![Input::Tokens(vec![1, 99])]),
        (json!([[1], [2, 3]]), vec![Input::Tokens(vec![1]), Input::Tokens(vec![2, 3])]),
    ] {
        assert_eq!(read(&json!({ "input": input })).expect("a request").inputs, expected);
    }
}

#[test]
fn inputs_that_cannot_be_computed_are_named() {
    for (input, param) in [
        (json!([]), "input"),
        (json!(""), "input[0]"),
        (json!(["a", ""]), "input[1]"),
        (json!([[1], []]), "input[1]"),
        (json!([1, 100]), "input[0]"),
        (json!([[1], [-1]]), "input[1]"),
        (json!(vec!["a"; 2_049]), "input"),
    ] {
        let refusal = read(&json!({ "input": input })).expect_err("a refusal");
        // A proxy that forwards only the message identifies the input by it.
        assert!(param == "input" || refusal.message.starts_with(param), "{refusal}");
        assert_eq!((refusal.param.as_deref(), refusal.code), (Some(param), None), "{input}");
    }
    let mixed = [json!([1, "a"]), json!(["a", [1]]), json!([[1], "a"]), json!([[[1]]]), json!([null])];
    for input in mixed.into_iter().chain([json!(null), json!(1), json!([1.5]), json!({})]) {
        let refusal = read(&json!({ "input": input })).expect_err("a refusal");
        assert!(refusal.message.contains("input is a string"), "{input}: {refusal}");
        assert_eq!(refusal.param.as_deref(), Some("input"));
    }
}

#[test]
fn blanks_between_inputs_change_nothing() {
    let body = br#"{ "model": "m", "input" : [ [1 , 2 ] , [ 3 ] ] }"#;
    let inputs = parse(body, TOKENS, WIDTH).expect("a request").inputs;
    assert_eq!(inputs, [Input::Tokens(vec![1, 2]), Input::Tokens(vec![3])]);
}

#[test]
fn the_shape_is_read_and_bounded() {
    let shape = |fields: Value| read(&fields).expect("a request").shape;
    assert_eq!(shape(json!({ "user": "u" })), Shape { dimensions: WIDTH, is_base64: false });
    assert_eq!(
        shape(json!({ "dimensions": 2, "encoding_format": "base64" })),
        Shape { dimensions: 2, is_base64: true }
    );
    assert_eq!(refused(&json!({ "dimensions": 0 })).0.as_deref(), Some("dimensions"));
    assert_eq!(refused(&json!({ "dimensions": 5 })).0.as_deref(), Some("dimensions"));
    assert_eq!(refused(&json!({ "encoding_format": "int8" })).0.as_deref(), Some("encoding_format"));
}

#[test]
fn fields_that_would_change_a_vector_are_refused() {
    for (field, value) in
        [("truncate_prompt_tokens", json!(5)), ("embd_normalize", json!(-1)), ("input_type", json!("query"))]
    {
        assert_eq!(
            refused(&json!({ field: value })),
            (Some(field.to_owned()), Some("unsupported_parameter"))
        );
    }
    let neutral = json!({ "embd_normalize": 2, "normalize": true, "task": null, "seed": 1 });
    assert!(read(&neutral).is_ok());
}

#[test]
fn an_answer_has_openais_shape() {
    let answer = |dimensions, is_base64| {
        let written = render("m", vec![vec![3.0, 4.0], vec![0.0, -2.0]], 7, Shape { dimensions, is_base64 });
        serde_json::from_slice::<Value>(&written).expect("JSON")
    };
    let plain = answer(2, false);
    assert_eq!((&plain["object"], &plain["model"]), (&json!("list"), &json!("m")));
    assert_eq!(plain["usage"], json!({ "prompt_tokens": 7, "total_tokens": 7 }));
    assert_eq!(plain["data"][1], json!({ "object": "embedding", "index": 1, "embedding": [0.0, -1.0] }));
    // 0.6 and 0.8 are 9A 99 19 3F and CD CC 4C 3F.
    assert_eq!(answer(2, true)["data"][0]["embedding"], "mpkZP83MTD8=");
    assert_eq!(answer(1, true)["data"][0]["embedding"], "AACAPw==");
}
