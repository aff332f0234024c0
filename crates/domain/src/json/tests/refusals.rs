use super::super::{JsonError, minimize};
use super::compact;

fn check(text: impl AsRef<[u8]>, offset: usize, code: &str) -> JsonError {
    let error = minimize(text.as_ref(), 0).expect_err("refused");
    assert_eq!((error.offset, error.code), (offset, code), "{error}");
    error
}

#[test]
fn white_space_outside_strings_goes_and_nothing_else_does() {
    assert_eq!(compact(" \r\n\t{ \"b\" : [ 1.50 , -0 , 1E+2 ] , \"a\" : \"x\\u0041 \\/\" }\n"), {
        r#"{"b":[1.50,-0,1E+2],"a":"x\u0041 \/"}"#
    });
    for same in ["null", "[]", "{}", "\"\"", "[{},[],\"\u{2028}é\"]", "9223372036854775808"] {
        assert_eq!(compact(same), same);
    }
}

#[test]
fn a_fault_names_its_byte_and_what_would_be_right() {
    assert_eq!(
        check("{\"a\" 1}", 5, "invalid_json").to_string(),
        "at byte 5: expected a colon after the key"
    );
    check("", 0, "invalid_json");
    check("  ", 2, "invalid_json");
    check("{\"a\":1,}", 7, "invalid_json");
    check("[1,]", 3, "invalid_json");
    check("[1 2]", 3, "invalid_json");
    check("[1}", 2, "invalid_json");
    check("{\"a\":1]", 6, "invalid_json");
    check("{} {}", 3, "invalid_json");
    check("{'a':1}", 1, "invalid_json");
    check("[", 1, "invalid_json");
    check("\"abc", 4, "invalid_json");
    check("\"abc\\", 4, "invalid_json");
    check("nul", 0, "invalid_json");
    check("[1,\u{a0}2]", 3, "invalid_json");
}

#[test]
fn only_rfc_8259_numbers_are_numbers() {
    for bad in ["01", "+1", ".5", "1.", "1e", "1e+", "-", "0x1", "1_0", "NaN", "Infinity", "-Infinity"] {
        assert_eq!(minimize(bad.as_bytes(), 0).expect_err(bad).code, "invalid_json", "{bad}");
    }
}

#[test]
fn numbers_beyond_a_double_are_refused_and_tiny_ones_are_not() {
    check("1e400", 0, "number_out_of_range");
    check("[-1.5E999999999999]", 1, "number_out_of_range");
    check("9".repeat(400), 0, "number_out_of_range");
    compact("1e-400");
    compact("0e99999");
    compact(&"9".repeat(308));
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    check(b"\"a\xff\"", 2, "invalid_utf8");
    check(b"\"\xed\xa0\x80\"", 1, "invalid_utf8");
    check(b"\xef\xbb\xbf{}", 0, "invalid_json");
    check("[\"a\nb\"]", 3, "invalid_json");
    check("\"0123456789\u{0}\"", 11, "invalid_json");
    check("[1,\u{0}]", 3, "invalid_json");
}

#[test]
fn surrogate_escapes_come_in_pairs() {
    check(r#""a\ud800""#, 2, "lone_surrogate");
    check(r#""\udc00\ud800""#, 1, "lone_surrogate");
    check(r#""\ud83d\ud83d""#, 1, "lone_surrogate");
    check(r#""\ud83dx""#, 1, "lone_surrogate");
    check(r#""\ud83d\n""#, 1, "lone_surrogate");
    check(r#""\u12g4""#, 3, "invalid_json");
    check(r#""\x""#, 1, "invalid_json");
    compact(r#""\ud83d\uDE00 \u0000""#);
}

#[test]
fn sixty_four_levels_are_taken_in_and_sixty_five_are_not() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    compact(&nested(64));
    check(nested(65), 64, "too_deep");
    check(format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65)), 64 * 5, "too_deep");
    assert!(minimize(nested(63).as_bytes(), 1).is_ok());
    assert!(minimize(nested(64).as_bytes(), 1).is_err());
    assert!(minimize(b"1", 200).is_ok());
    assert!(minimize(b"[]", 200).is_err());
}
