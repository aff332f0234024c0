use proptest::prelude::*;
use serde_json::Value;

use super::super::{Repairs, minimize, repair};
use super::against_serde::{document, soup};

const NONE: Repairs =
    Repairs { numbers: false, control_characters: false, characters: false, repeated_keys: false };
const NUMBERS: Repairs = Repairs { numbers: true, ..NONE };
const CONTROLS: Repairs = Repairs { control_characters: true, ..NONE };
const CHARACTERS: Repairs = Repairs { characters: true, ..NONE };
const KEYS: Repairs = Repairs { repeated_keys: true, ..NONE };

#[test]
fn each_repair_is_made_and_reported() {
    let table: [(&[u8], &str, Repairs); 28] = [
        (br#" { "a" : 1.0 } "#, r#"{"a":1.0}"#, NONE),
        (b"[NaN, 1]", "[null,1]", NUMBERS),
        (br#"{"a":Infinity,"b":-Infinity}"#, r#"{"a":null,"b":null}"#, NUMBERS),
        (b"[1e400,-1e999]", "[null,null]", NUMBERS),
        (b"NaN", "null", NUMBERS),
        (b"[\"a\nb\tc\rd\x00\x1f\"]", r#"["a\nb\tc\rd\u0000\u001f"]"#, CONTROLS),
        (b"{\"a\nb\":\"\x7f\"}", "{\"a\\nb\":\"\u{7f}\"}", CONTROLS),
        (b"\"a\xffb\"", "\"a\u{fffd}b\"", CHARACTERS),
        (b"\"\xed\xa0\x80\"", "\"\u{fffd}\u{fffd}\u{fffd}\"", CHARACTERS),
        (br#""\ud800""#, "\"\u{fffd}\"", CHARACTERS),
        (br#""\udc00x""#, "\"\u{fffd}x\"", CHARACTERS),
        (br#""\ud83d\n""#, "\"\u{fffd}\\n\"", CHARACTERS),
        (br#""\ud83d\u0041""#, "\"\u{fffd}\\u0041\"", CHARACTERS),
        (br#""\ud83d\ud83d\ude00""#, "\"\u{fffd}\\ud83d\\ude00\"", CHARACTERS),
        (b"\xef\xbb\xbf{}", "{}", NONE),
        (br#"{"a":1,"a":2}"#, r#"{"a":2}"#, KEYS),
        (br#"{"a":1,"b":3,"\u0061":2}"#, r#"{"b":3,"\u0061":2}"#, KEYS),
        (br#"{"a":1,"a":2,"a":3}"#, r#"{"a":3}"#, KEYS),
        (br#"[{"a":{"b":1,"b":2},"a":[{"c":1,"c":{}}]}]"#, r#"[{"a":[{"c":{}}]}]"#, KEYS),
        (br#"{"a":{"a":1},"b":{"a":1}}"#, r#"{"a":{"a":1},"b":{"a":1}}"#, NONE),
        (br#"{"":[],"":{}}"#, r#"{"":{}}"#, KEYS),
        (br#"{"a":{},"b":{},"a":"}"}"#, r#"{"b":{},"a":"}"}"#, KEYS),
        (br#"{"a":[1,{"b":"x,y"}],"a":null}"#, r#"{"a":null}"#, KEYS),
        (b"{\"a\nb\" :1, \"a\\nb\" :2 }", r#"{"a\nb":2}"#, CONTROLS.union(KEYS)),
        (br#"{"\ud800a":1,"\ud800b":2}"#, "{\"\u{fffd}a\":1,\"\u{fffd}b\":2}", CHARACTERS),
        (br#"{"\ud800":[{"x":1,"x":2}],"\ufffd":2}"#, r#"{"\ufffd":2}"#, CHARACTERS.union(KEYS)),
        (br#"{"a":"NaN","b":"-Infinity"}"#, r#"{"a":"NaN","b":"-Infinity"}"#, NONE),
        (b"[[],{},[{}]]", "[[],{},[{}]]", NONE),
    ];
    for (text, expected, repairs) in table {
        let repaired = repair(text).unwrap_or_else(|error| panic!("{error}: {expected}"));
        assert_eq!((repaired.text.as_str(), repaired.repairs), (expected, repairs));
    }
}

#[test]
fn a_text_beyond_repair_is_refused_with_the_offset_of_its_own_bytes() {
    for (text, error) in [
        (&b""[..], "at byte 0: expected a value"),
        (b"<html>", "at byte 0: expected a value"),
        (b"{\"a\":1,}", "at byte 7: expected a key in double quotes"),
        (b"\xef\xbb\xbf[1 2]", "at byte 6: expected a comma or a closing bracket"),
        (b"[\"\xff\xff\", x]", "at byte 7: expected a value"),
        (b"[\"\xe2\x82\", nan]", "at byte 7: expected true, false or null"),
        (b"{'a':1}", "at byte 1: expected a key in double quotes"),
        (b"[-Inf]", "at byte 1: expected a value"),
        (b"\"\\x\"", "at byte 1: expected a known escape after the backslash"),
    ] {
        assert_eq!(repair(text).expect_err("refused").to_string(), error, "{text:?}");
    }
    let deep = [vec![b'['; 65], vec![b']'; 65]].concat();
    assert_eq!(repair(&deep).expect_err("refused").code, "too_deep");
}

#[test]
fn a_hundred_thousand_keys_are_reduced_to_half() {
    let members = (0..100_000).map(|index| format!("\"k{}\":{index}", index % 50_000));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let expected = (50_000..100_000).map(|index| format!("\"k{}\":{index}", index % 50_000));
    let expected = format!("{{{}}}", expected.collect::<Vec<_>>().join(","));
    assert_eq!(repair(text.as_bytes()).expect("repaired").text.as_str(), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_repaired_text_is_strict_and_a_second_repair_changes_nothing(text in soup()) {
        if let Ok(repaired) = repair(&text) {
            let text = repaired.text.as_str();
            prop_assert!(serde_json::from_str::<Value>(text).is_ok(), "{text}");
            prop_assert_eq!(repair(text.as_bytes()).map(|it| (it.text, it.repairs)), Ok((repaired.text, NONE)));
        } else {
            prop_assert!(minimize(&text, 0).is_err());
        }
    }

    #[test]
    fn strict_json_keeps_its_text_or_loses_repeated_keys_alone(value in document(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_vec_pretty(&value) } else { serde_json::to_vec(&value) };
        let text = text.expect("written");
        let repaired = repair(&text).expect("repaired");
        prop_assert_eq!(repaired.repairs, NONE);
        prop_assert_eq!(Ok(repaired.text), minimize(&text, 0));
    }

    #[test]
    fn the_last_of_repeated_keys_is_what_serde_json_reads(keys in prop::collection::vec((0..9_u8, 0..99_u8), 0..40)) {
        let member = |(key, value): &(u8, u8)| format!(r#""{key}":{{"x":{value},"x":{key}}}"#);
        let text = format!("{{{}}}", keys.iter().map(member).collect::<Vec<_>>().join(","));
        let repaired = repair(text.as_bytes()).expect("repaired").text;
        let values = [&text, repaired.as_str()].map(|it| serde_json::from_str::<Value>(it).expect("JSON"));
        prop_assert_eq!(&values[0], &values[1]);
        prop_assert_eq!(repaired.as_str().matches(":{").count(), values[1].as_object().map_or(0, |it| it.len()));
    }
}
