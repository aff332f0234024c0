use super::super::{Json, Kind, ObjectWriter, Piece, minimize, quote};

fn read(text: &str) -> Json<'_> {
    Json::from_stored(text.as_bytes()).expect("UTF-8")
}

#[test]
fn scalars_are_read_by_type() {
    assert_eq!(read("-1.5e1").as_f64(), Some(-15.0));
    assert_eq!(read("\"1\"").as_f64(), None);
    assert_eq!(read("9223372036854775808").as_integer_text(), Some("9223372036854775808"));
    assert_eq!(read("1.0").as_integer_text(), None);
    assert_eq!(read("1e2").as_integer_text(), None);
    assert!(read("null").is_null());
    assert_eq!(
        [read("{}").kind(), read("[]").kind(), read("\"\"").kind(), read("true").kind()],
        [Kind::Object, Kind::Array, Kind::String, Kind::Boolean]
    );
}

#[test]
fn strings_are_decoded_piece_by_piece() {
    let text = r#""a\n\"\\\/\u0041é\ud83d\ude00\b\f\r\t""#;
    assert_eq!(read(text).decode_string().as_deref(), Some("a\n\"\\/Aé😀\u{8}\u{c}\r\t"));
    let pieces: Vec<_> = read(r#""ab\u0041c""#).string_pieces().expect("a string").collect();
    assert_eq!(pieces, [Piece::Plain("ab"), Piece::Escaped('A'), Piece::Plain("c")]);
}

#[test]
fn strings_of_each_length_end_at_their_quote() {
    // Bytes that differ from a quote or a backslash by one bit.
    for filling in ["#", "]", "\u{a2}", "\u{dc}", " ", "\u{7f}"] {
        for length in 0..40 {
            let plain = filling.repeat(length);
            let text = format!(r#"{{"{plain}":"{plain}","{plain}\\":"{plain}\"{plain}"}}"#);
            let members: Vec<_> = read(&text).members().expect("an object").collect();
            let decoded = |index: usize| (members[index].key(), members[index].value.decode_string());
            assert_eq!(decoded(0), (plain.as_str().into(), Some(plain.as_str().into())));
            let (key, value) = (format!("{plain}\\"), format!("{plain}\"{plain}"));
            assert_eq!(decoded(1), (key.into(), Some(value.into())));
            assert_eq!(members.len(), 2);
        }
    }
}

#[test]
fn members_and_elements_are_walked_in_order() {
    let object =
        read(r#"{"a":[1,[2,"]"],{"x":"}"}],"b\u0062":"q\"","c":null}"#).to_object().expect("an object");
    let keys: Vec<_> = object.members().iter().map(|(key, _)| key.as_ref()).collect();
    assert_eq!(keys, ["a", "bb", "c"]);
    let elements: Vec<_> =
        object.get("a").and_then(Json::elements).expect("an array").map(Json::as_str).collect();
    assert_eq!(elements, ["1", "[2,\"]\"]", "{\"x\":\"}\"}"]);
    assert_eq!(object.get("bb").map(Json::as_str), Some("\"q\\\"\""));
    assert_eq!((object.get("c").is_some(), object.get_some("c"), object.get("d")), (true, None, None));
    assert_eq!(read("[]").elements().expect("an array").count(), 0);
    assert_eq!(read("{}").members().expect("an object").count(), 0);
}

#[test]
fn duplicate_keys_are_found_decoded_and_named_once() {
    let duplicates = |text: &str| -> Vec<String> {
        let object = read(text).to_object().expect("an object");
        object.duplicate_keys().into_iter().map(str::to_owned).collect()
    };
    assert_eq!(duplicates(r#"{"b":1,"a":1,"\u0061":2,"a":3,"b":2,"c":1}"#), ["b", "a"]);
    assert!(duplicates(r#"{"a":1,"A":2,"":3}"#).is_empty());
    let many: Vec<String> = (0..500).map(|index| format!("\"k{}\":0", index % 498)).collect();
    assert_eq!(duplicates(&format!("{{{}}}", many.join(","))), ["k0", "k1"]);
}

#[test]
fn written_objects_are_read_back() {
    let mut writer = ObjectWriter::with_capacity(16);
    writer.copy(read("\"\\u0061\""), read("[1.0]"));
    writer.string("name\"", "line\n\u{1}é");
    writer.integer("count", 7);
    let text = writer.finish();
    assert_eq!(text.as_str(), r#"{"\u0061":[1.0],"name\"":"line\n\u0001é","count":7}"#);
    assert_eq!(minimize(text.as_str().as_bytes(), 0), Ok(text));
    assert_eq!(ObjectWriter::with_capacity(0).finish().as_str(), "{}");
    assert_eq!(quote("a"), "\"a\"");
}

#[test]
fn text_that_was_never_checked_reads_as_nonsense_and_does_no_harm() {
    let texts = [
        "",
        "\"",
        "{\"",
        "[",
        "]",
        "{\"a\"",
        "{\"a\\",
        "[1",
        "\"\\u12",
        "[}}",
        "{\"a\":}",
        "\"\\é\"",
        "\"\\ud83d\\n\"",
    ];
    for text in texts {
        let json = read(text);
        let _ = (json.as_f64(), json.as_integer_text(), json.decode_string());
        let _ = json.elements().map(|elements| elements.take(10).count());
        let _ = json.to_object().map(|object| object.duplicate_keys().len());
    }
}

#[test]
fn depth_counts_what_stands_in_each_other_and_no_strings() {
    for (text, depth) in
        [("7", 0), (r#""[[{""#, 0), ("[]", 1), (r#"{"a":[1,[2]],"b":[]}"#, 3), (r#"["\"[[",{"[":0}]"#, 2)]
    {
        let text = minimize(text.as_bytes(), 0).unwrap();
        let deeper: Vec<bool> = (0..5).map(|levels| text.as_json().is_deeper_than(levels)).collect();
        assert_eq!(deeper.iter().filter(|deeper| **deeper).count(), depth, "{}", text.as_str());
    }
}

#[test]
fn an_object_is_written_with_each_kind_of_value() {
    let mut writer = ObjectWriter::with_capacity(0);
    writer.null("a");
    writer.boolean("b", true);
    writer.boolean("c", false);
    writer.integer("d", -7);
    writer.string("e", "\"");
    assert_eq!(writer.finish().as_str(), r#"{"a":null,"b":true,"c":false,"d":-7,"e":"\""}"#);
}
