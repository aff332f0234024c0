use proptest::prelude::*;
use proptest::sample::select;

use super::super::{find_warnings, parse_completion};
use super::with;
use crate::answers::Reader;
use crate::json::minimize;

/// An answer with these choices and `written` tokens of output.
fn answer(choices: &str, written: u64) -> String {
    let usage = format!(r#"{{"prompt_tokens":3,"completion_tokens":{written},"total_tokens":9}}"#);
    format!(r#"{{"object":"chat.completion","choices":[{choices}],"usage":{usage}}}"#)
}

fn choice(text: &str, finish_reason: &str) -> String {
    let text = crate::json::quote(text);
    format!(r#"{{"message":{{"role":"assistant","content":{text}}},"finish_reason":"{finish_reason}"}}"#)
}

/// Checks the warnings, one a line, of a body with `fields` whose answer has `choices`.
#[track_caller]
fn check_tokens(fields: &str, choices: &str, written: u64, expected: &str) {
    let body = minimize(with(fields).as_bytes(), 0).expect(fields);
    let completion = parse_completion(answer(choices, written).as_bytes(), Reader::CHARGED).expect(choices);
    let told: Vec<_> = find_warnings(body.as_json(), &completion)
        .into_iter()
        .map(|warning| {
            assert!(warning.message.len() <= 200, "{}", warning.message);
            let field = warning.ignored_field().expect("a field of the request");
            let beginning = format!("The engine did not honour `{field}`: ");
            let what = warning.message.strip_prefix(&*beginning).expect("the beginning of all");
            format!("{field}: {what}")
        })
        .collect();
    assert_eq!(told.join("\n"), expected, "{fields} {choices}");
}

#[track_caller]
fn check(fields: &str, choices: &str, expected: &str) {
    check_tokens(fields, choices, 5, expected);
}

#[test]
fn fewer_choices_than_were_asked_for_are_told() {
    let [one, three] = [choice("a", "stop"), vec![choice("a", "stop"); 3].join(",")];
    check(r#""n":3"#, &one, "n: the answer has 1 of 3 choices.");
    check(r#""n":3"#, &three, "");
    check(r#""n":2"#, &three, "");
    check(r#""n":1"#, &one, "");
    check(r#""n":null"#, &one, "");
    check(r#""temperature":1"#, &one, "");
}

#[test]
fn a_choice_without_its_log_probabilities_is_told() {
    let with_some = r#"{"message":{},"logprobs":{"content":[]}}"#;
    let [without, with_null] = [r#"{"message":{}}"#, r#"{"message":{},"logprobs":null}"#];
    let none = "logprobs: a choice has none.";
    check(r#""logprobs":true"#, with_some, "");
    check(r#""logprobs":true"#, without, none);
    check(r#""logprobs":true"#, with_null, none);
    check(r#""logprobs":true,"n":2"#, &format!("{with_some},{without}"), none);
    check(r#""logprobs":true,"n":2"#, &format!("{with_some},{with_some}"), "");
    for fields in [r#""logprobs":false"#, r#""logprobs":null"#, r#""top_logprobs":2"#] {
        check(fields, without, "");
    }
}

const OBJECT: &str = r#""response_format":{"type":"json_object"}"#;
const NO_JSON: &str = "response_format: the text of a choice is no JSON.";

#[test]
fn text_that_is_no_json_is_told_where_json_was_asked_for() {
    for text in ["Sure!", "", "{\"a\":", "```json\n{}\n```", "{} {}", "{'a':1}"] {
        check(OBJECT, &choice(text, "stop"), NO_JSON);
    }
    for text in [" {\"a\": [1]}\n", "[]", "7"] {
        check(OBJECT, &choice(text, "stop"), "");
    }
    check(
        &format!(r#"{OBJECT},"n":2"#),
        &format!("{},{}", choice("{}", "stop"), choice("a", "stop")),
        NO_JSON,
    );
    for fields in [r#""response_format":{"type":"text"}"#, r#""response_format":null"#, r#""seed":1"#] {
        check(fields, &choice("Sure!", "stop"), "");
    }
}

#[test]
fn what_proves_nothing_of_the_form_is_not_told() {
    for reason in ["length", "content_filter", "tool_calls"] {
        check(OBJECT, &choice("{\"a\":", reason), "");
    }
    for message in [
        r#"{"content":null}"#,
        r#"{"content":[{"type":"text","text":"a"}]}"#,
        r#"{"content":"a","refusal":"I will not."}"#,
        r#"{"content":"a","tool_calls":[{"function":{"name":"f"}}]}"#,
        r#"{"content":"a","function_call":{"name":"f"}}"#,
        "{}",
    ] {
        check(OBJECT, &format!(r#"{{"message":{message},"finish_reason":"stop"}}"#), "");
    }
    check(OBJECT, r#"{"message":{"content":"a"},"finish_reason":null}"#, "");
    // The client's stop text may have ended it anywhere.
    check(&format!(r#"{OBJECT},"stop":["}}"]"#), &choice("{\"a\":1", "stop"), "");
    check(&format!(r#"{OBJECT},"stop_token_ids":[2],"stop":null"#), &choice("{", "stop"), "");
    check(&format!(r#"{OBJECT},"stop":[],"stop_token_ids":null"#), &choice("{", "stop"), NO_JSON);
    // JSON that this service does not read to its end.
    for text in ["[".repeat(70) + &"]".repeat(70), "1e999".to_owned(), r#""\ud800""#.to_owned()] {
        check(OBJECT, &choice(&text, "stop"), "");
    }
}

#[test]
fn of_a_schema_the_outermost_type_and_properties_are_looked_at() {
    let check = |schema: &str, text: &str, expected: &str| {
        let format = format!(r#"{{"type":"json_schema","json_schema":{{"name":"s","schema":{schema}}}}}"#);
        check(&format!(r#""response_format":{format}"#), &choice(text, "stop"), expected);
    };
    let other_type = "response_format: the text of a choice has not the type of the schema.";
    let lacks = "response_format: the text of a choice lacks a property that the schema requires.";
    let person = r#"{"type":"object","required":["name","age"]}"#;
    check(person, r#"{"age":"x","na\u006de":null,"more":1}"#, "");
    check(person, r#"{"name":"x"}"#, lacks);
    check(person, r#"{"more":{"name":1,"age":2}}"#, lacks);
    check(person, r#"["name","age"]"#, other_type);
    check(person, "name, age", NO_JSON);
    check(r#"{"required":["name"]}"#, "[]", "");
    check(r#"{"type":["string","null"]}"#, "null", "");
    check(r#"{"type":["string","null"]}"#, "7", other_type);
    check(r#"{"type":"integer"}"#, "1.0", "");
    for kind in ["null", "boolean", "number", "string", "array", "object"] {
        for (value, of) in [
            ("null", "null"),
            ("true", "boolean"),
            ("1", "number"),
            (r#""a""#, "string"),
            ("[]", "array"),
            ("{}", "object"),
        ] {
            let expected = if kind == of { "" } else { other_type };
            check(&format!(r#"{{"type":"{kind}"}}"#), value, expected);
        }
    }
    for schema in [
        "{}",
        "true",
        "null",
        r#"{"$ref":"a","type":"string"}"#,
        r#"{"type":"file"}"#,
        r#"{"type":["string","file"]}"#,
        r#"{"type":7,"required":"name"}"#,
        r#"{"properties":{"a":{}},"required":[]}"#,
    ] {
        check(schema, "{}", "");
    }
}

#[test]
fn a_form_without_the_shape_of_its_documentation_asks_for_nothing_or_for_json() {
    for format in ["7", "[]", "{}", r#"{"type":7}"#, r#"{"type":"regex"}"#] {
        check(&format!(r#""response_format":{format}"#), &choice("a", "stop"), "");
    }
    for schema in [r#""x":1"#, r#""json_schema":7"#, r#""json_schema":{}"#] {
        let format = format!(r#""response_format":{{"type":"json_schema",{schema}}}"#);
        check(&format, &choice("a", "stop"), NO_JSON);
        check(&format, &choice("{}", "stop"), "");
    }
}

#[test]
fn a_choice_that_does_not_call_what_it_had_to_call_is_told() {
    let required = r#""tool_choice":"required""#;
    let named = r#""tool_choice":{"type":"function","function":{"name":"f"}}"#;
    let calls = |calls: &str, reason: &str| {
        format!(r#"{{"message":{{"content":null,"tool_calls":{calls}}},"finish_reason":"{reason}"}}"#)
    };
    let (f, g) = (r#"[{"function":{"name":"f"}}]"#, r#"[{"function":{"name":"g"}}]"#);
    let none = "tool_choice: a choice calls no function.";
    for fields in [required, named] {
        check(fields, &choice("Sure!", "stop"), none);
        check(fields, &calls("[]", "tool_calls"), none);
        check(fields, &calls("null", "stop"), none);
        check(fields, &choice("Sure!", "length"), "");
        check(fields, r#"{"message":{},"finish_reason":null}"#, "");
        check(fields, r#"{"message":{"refusal":"No."},"finish_reason":"stop"}"#, "");
        check(fields, r#"{"message":{"function_call":{"name":"f"}},"finish_reason":"stop"}"#, "");
        check(&format!(r#"{fields},"stop":"x""#), &choice("Sure!", "stop"), "");
        for reason in ["stop", "tool_calls"] {
            check(fields, &calls(f, reason), "");
        }
    }
    check(required, &calls(g, "tool_calls"), "");
    check(named, &calls(g, "tool_calls"), "tool_choice: a choice calls another function.");
    for calls in ["[7]", "[{}]", r#"[{"function":{"name":7}}]"#] {
        check(named, &format!(r#"{{"message":{{"tool_calls":{calls}}},"finish_reason":"stop"}}"#), "");
    }
    for choice_of_client in [r#""auto""#, r#""none""#, "null", "7", "{}", r#"{"function":{}}"#] {
        check(&format!(r#""tool_choice":{choice_of_client}"#), &choice("a", "stop"), "");
    }
}

#[test]
fn more_tokens_than_the_limit_are_told_by_the_name_of_the_client() {
    let one = choice("a", "stop");
    let more = |field: &str| format!("{field}: the answer has 11 tokens, and at most 10 were asked for.");
    check_tokens(r#""max_tokens":10"#, &one, 11, &more("max_tokens"));
    check_tokens(r#""max_completion_tokens":10"#, &one, 11, &more("max_completion_tokens"));
    check_tokens(r#""max_completion_tokens":10,"max_tokens":10"#, &one, 11, &more("max_tokens"));
    check_tokens(r#""max_tokens":null,"max_completion_tokens":10"#, &one, 11, &more("max_completion_tokens"));
    check_tokens(r#""max_tokens":10"#, &one, 10, "");
    check_tokens(r#""temperature":1"#, &one, 11, "");
    // Choices that were not answered may have been computed.
    check_tokens(r#""max_tokens":10,"n":2"#, &one, 20, "n: the answer has 1 of 2 choices.");
    check_tokens(r#""max_tokens":10"#, &format!("{one},{one}"), 20, "");
}

#[test]
fn several_fields_are_told_in_one_order() {
    let fields = format!(r#""tool_choice":"required",{OBJECT},"logprobs":true,"max_tokens":1,"n":2"#);
    let expected = [
        "n: the answer has 1 of 2 choices.",
        "max_tokens: the answer has 5 tokens, and at most 2 were asked for.",
        "logprobs: a choice has none.",
        NO_JSON,
        "tool_choice: a choice calls no function.",
    ];
    check(&fields, &choice("a", "stop"), &expected.join("\n"));
}

#[test]
fn odd_choices_are_read_without_harm() {
    let fields = format!(r#""tool_choice":"required",{OBJECT},"logprobs":true"#);
    let none = "logprobs: a choice has none.";
    for members in [
        r#""message":{"content":7,"tool_calls":7}"#,
        r#""message":{"content":{},"tool_calls":{}},"finish_reason":7"#,
        r#""message":{"role":[]},"finish_reason":[]"#,
    ] {
        check(&fields, &format!("{{{members}}}"), none);
    }
}

/// Values of every type, some of which a field takes.
const VALUES: [&str; 14] = [
    "null",
    "true",
    "2",
    "-1",
    "99999999999999999999",
    r#""required""#,
    r#""stop""#,
    r#""{\"a\":1}""#,
    "[]",
    "[{}]",
    "{}",
    r#"{"type":"json_object"}"#,
    r#"{"type":"json_schema","json_schema":{"schema":{"type":["object"],"required":["a",7]}}}"#,
    r#"{"function":{"name":"f"}}"#,
];

/// An object with a value for each of these keys.
fn object(keys: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::collection::vec(select(&VALUES[..]), keys.len()).prop_map(move |values| {
        let member = |(key, value): (&&str, &str)| format!(r#""{key}":{value}"#);
        format!("{{{}}}", keys.iter().zip(values).map(member).collect::<Vec<_>>().join(","))
    })
}

proptest! {
    #[test]
    fn no_field_and_no_answer_make_a_panic_or_a_field_that_is_told_twice(
        body in object(&["n", "max_tokens", "max_completion_tokens", "logprobs", "response_format", "tool_choice"]),
        message in object(&["content", "tool_calls", "function_call"]),
        choice in object(&["finish_reason", "logprobs"]),
    ) {
        let choice = choice.replacen('{', &format!(r#"{{"message":{message},"#), 1);
        let completion = parse_completion(answer(&choice, 5).as_bytes(), Reader::CHARGED).expect("a completion");
        let body = minimize(body.as_bytes(), 0).expect("a body");
        let mut fields: Vec<_> = find_warnings(body.as_json(), &completion).iter().map(|it| it.param).collect();
        let told = fields.len();
        fields.sort_unstable();
        fields.dedup();
        prop_assert_eq!(fields.len(), told);
    }
}
