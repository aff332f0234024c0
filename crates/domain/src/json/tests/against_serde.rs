//! serde_json is the oracle: what is accepted, and that compact text means the same.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{Json, Kind, minimize};

/// Pieces of JSON and of similar text; joined at random, they are on both sides of every rule.
pub(super) fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"", "\"a\":", "\"a\"", "\\", "\\u", "\\ud83d", "\\ude00", "\\n", "true",
            "null", "false", "0", "-", "1", "1.5", "e", "E+3", "1e400", "1e-400", "00", ".", " ", "\n", "\t", "\u{0}",
            "\u{7f}", "é", "😀", "\u{feff}", "\u{2028}", "12345678", "/", "'", "NaN", "-Infinity", "\n",
        ]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..3),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

pub(super) fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn strip(text: &str) -> String {
    let (mut within, mut escaped) = (false, false);
    text.chars()
        .filter(|&character| {
            let kept = within || !character.is_ascii_whitespace();
            (within, escaped) = match character {
                '"' if !escaped => (!within, false),
                '\\' => (within, within && !escaped),
                _ => (within, false),
            };
            kept
        })
        .collect()
}

fn check(text: &[u8]) -> Result<(), TestCaseError> {
    let oracle = serde_json::from_slice::<Value>(text);
    let ours = minimize(text, 0);
    prop_assert_eq!(oracle.is_ok(), ours.is_ok(), "{:?} {:?}", oracle, ours);
    if let (Ok(value), Ok(compact)) = (oracle, ours) {
        prop_assert_eq!(&serde_json::from_str::<Value>(compact.as_str()).expect("compact"), &value);
        prop_assert_eq!(compact.as_str(), strip(std::str::from_utf8(text).expect("UTF-8")));
        check_reading(compact.as_json(), &value)?;
    }
    Ok(())
}

fn check_reading(json: Json<'_>, value: &Value) -> Result<(), TestCaseError> {
    match value {
        Value::Null => prop_assert!(json.is_null()),
        Value::Bool(truth) => {
            prop_assert_eq!((json.kind(), json.as_str()), (Kind::Boolean, &*truth.to_string()));
        }
        Value::Number(_) => prop_assert!(json.as_f64().is_some()),
        Value::String(text) => prop_assert!(json.decode_string().is_some_and(|decoded| decoded == *text)),
        Value::Array(values) => {
            let elements: Vec<Json<'_>> = json.elements().expect("an array").collect();
            prop_assert_eq!(elements.len(), values.len());
            for (element, value) in elements.into_iter().zip(values) {
                check_reading(element, value)?;
            }
        }
        Value::Object(map) => {
            let object = json.to_object().expect("an object");
            let duplicates = object.duplicate_keys();
            for (key, value) in map {
                let member = object.get(key);
                prop_assert!(member.is_some());
                if let Some(member) = member.filter(|_| !duplicates.contains(&key.as_str())) {
                    check_reading(member, value)?;
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn soup_is_taken_in_exactly_when_serde_json_takes_it(text in soup()) {
        check(&text)?;
    }

    #[test]
    fn documents_keep_their_meaning(value in document(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        check(&text.expect("written"))?;
    }

    #[test]
    fn damaged_documents_are_judged_alike(value in document(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut text = serde_json::to_vec_pretty(&value).expect("written");
        let at = at.index(text.len());
        text[at] = byte;
        check(&text)?;
    }
}
