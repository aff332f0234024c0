//! The body of a batch is split the same way for every division into chunks.

use overnight_domain::json::minimize;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::anthropic::elements::{Element, Elements, ElementsError};

/// The elements of a body in chunks of these lengths; the last chunk is the rest.
fn split(body: &[u8], lengths: &[usize], bytes_max: usize) -> Result<Vec<String>, ElementsError> {
    let (mut elements, mut found) = (Elements::new(bytes_max), Vec::new());
    let mut rest = body;
    for length in lengths.iter().copied().chain([usize::MAX]) {
        let (mut chunk, after) = rest.split_at(length.min(rest.len()));
        rest = after;
        while !chunk.is_empty() {
            let (element, read) = elements.read(chunk)?;
            if let Some(element) = element {
                let element =
                    minimize(&element, 2).map_err(|error| ElementsError::Invalid(error.to_string()))?;
                found.push(element.as_str().to_owned());
            }
            chunk = &chunk[read..];
        }
    }
    assert_eq!(elements.count(), found.len());
    elements.finish().map(|count| assert_eq!(count, found.len()))?;
    Ok(found)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_filter("a number", |number| number.is_finite()).prop_map(|number| json!(number)),
        "[\\[\\]{}\",:\\\\ a\u{e9}\u{1f600}]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::hash_map("[\\[\\]{}\",:\\\\ a]{0,4}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_body_is_split_the_same_at_every_boundary(requests in proptest::collection::vec(value(), 0..4), is_pretty: bool) {
        let body = json!({"requests": requests});
        let text = if is_pretty { serde_json::to_string_pretty(&body) } else { serde_json::to_string(&body) };
        let text = text.expect("JSON").into_bytes();
        let expected: Vec<String> = requests.iter().map(Value::to_string).collect();
        for boundary in 0..=text.len() {
            prop_assert_eq!(&split(&text, &[boundary], 1 << 20).expect("a body"), &expected);
        }
        let single: Vec<usize> = vec![1; text.len()];
        prop_assert_eq!(&split(&text, &single, 1 << 20).expect("a body"), &expected);
    }

    #[test]
    fn what_is_taken_is_what_another_parser_takes(text in "[\\[\\]{}\",:\\\\ a1enrqusttl.-]{0,24}") {
        let text = format!("{{\"requests\": {text}");
        let ours = split(text.as_bytes(), &[], 1 << 20);
        let theirs = serde_json::from_str::<Value>(&text);
        let is_list = |value: &Value| value.as_object().is_some_and(|object| {
            object.len() == 1 && object.get("requests").is_some_and(Value::is_array)
        });
        prop_assert_eq!(ours.is_ok(), theirs.as_ref().is_ok_and(is_list), "{}: {:?}", text, ours);
    }

    #[test]
    fn hostile_bytes_yield_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = split(&bytes, &[3, 5], 16);
    }
}

#[test]
fn what_is_no_list_of_requests_says_why() {
    for (body, expected) in [
        ("", "breaks off"),
        ("[]", "must be a JSON object"),
        ("{}", "has no requests"),
        ("{\"requests\":{}}", "must have an array"),
        ("{\"requests\":[]", "breaks off"),
        ("{\"requests\":[{}", "breaks off"),
        ("{\"requests\":[]}x", "not valid JSON"),
        ("{\"requests\":[],\"requests\":[]}", "more than once"),
        ("{\"requests\":[],\"betas\":[]}", "not known here: \"betas\""),
        ("{\"requests\":[{]}", "expected a key"),
        ("{\"requests\":[{}{}]}", "not valid JSON"),
        ("{\"requests\":[{},]}", "not valid JSON"),
        ("{\"requests\":[{\"a\":tru}]}", "expected"),
        ("{\"requests\":[{},{\"a\":\"\\ud800\"}]}", "surrogate"),
    ] {
        match split(body.as_bytes(), &[], 100) {
            Err(ElementsError::Invalid(words)) => assert!(words.contains(expected), "{body}: {words}"),
            other => panic!("{body}: {other:?}"),
        }
    }
    assert_eq!(split(b"{\"r\\u0065quests\":[1]}", &[], 100), Ok(vec!["1".to_owned()]));
}

#[test]
fn an_element_is_no_longer_and_no_deeper_than_it_may_be() {
    assert_eq!(split(b"{\"requests\":[\"12345678\"]}", &[], 10).expect("a body").len(), 1);
    let longer = split(b"{\"requests\":[1,\"123456789\"]}", &[4, 4, 4], 10);
    assert_eq!(longer, Err(ElementsError::TooLong { place: 1 }));
    let nested = |depth: usize| format!("{{\"requests\":[{}{}]}}", "[".repeat(depth), "]".repeat(depth));
    assert!(split(nested(62).as_bytes(), &[], 1_000).is_ok());
    for depth in [63, 65, 400] {
        assert!(
            matches!(split(nested(depth).as_bytes(), &[], 1_000), Err(ElementsError::Invalid(_))),
            "{depth}"
        );
    }
}

#[test]
fn an_element_is_a_custom_id_with_params() {
    let read = |text: &str| {
        let text = minimize(text.as_bytes(), 0).expect("JSON");
        Element::read(text.as_json())
            .map(|element| (element.custom_id.into_owned(), element.params.as_str().to_owned()))
    };
    assert_eq!(read("{\"params\": {}, \"custom_id\": \"a\"}"), Ok(("a".to_owned(), "{}".to_owned())));
    let long = format!("{{\"custom_id\":\"{}\",\"params\":{{}}}}", "x".repeat(65));
    for (text, expected) in [
        ("7", ": must be an object"),
        ("{}", ".custom_id: is required"),
        ("{\"custom_id\":\"a\"}", ".params: is required"),
        ("{\"custom_id\":\"a\",\"params\":7}", ".params: must be an object"),
        ("{\"custom_id\":7,\"params\":{}}", ".custom_id: must be a string"),
        ("{\"custom_id\":\"\",\"params\":{}}", ".custom_id: must have 1 to 64 characters"),
        (&long, ".custom_id: must have 1 to 64 characters"),
        ("{\"custom_id\":\"a\",\"params\":{},\"x\":1}", ".x: is not known here"),
        (
            "{\"custom_id\":\"a\",\"custom_id\":\"b\",\"params\":{}}",
            ".custom_id: stands more than once in its object",
        ),
    ] {
        assert_eq!(read(text), Err(expected.to_owned()), "{text}");
    }
}
