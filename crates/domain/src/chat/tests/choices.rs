use super::super::{choices_asked, choices_given, for_one_choice, join_choices, parse_completion};
use crate::answers::Reader;
use crate::json::Json;

#[test]
fn a_body_is_taken_apart_into_its_choices() {
    for (stored, asked, second) in [
        (r#"{"model":"m"}"#, 1, r#"{"model":"m"}"#),
        (r#"{"n":null,"model":"m"}"#, 1, r#"{"model":"m"}"#),
        (r#"{"n":3,"seed":41,"model":"m"}"#, 3, r#"{"seed":42,"model":"m"}"#),
        (r#"{"seed":-1,"n":2}"#, 2, r#"{"seed":0}"#),
        (r#"{"seed":9223372036854775807,"n":2}"#, 2, r#"{"seed":-9223372036854775808}"#),
        (r#"{"seed":null,"\u006e":2}"#, 2, r#"{"seed":null}"#),
    ] {
        let body = Json::from_stored(stored.as_bytes()).expect("UTF-8");
        assert_eq!(choices_asked(body), asked, "{stored}");
        assert_eq!(for_one_choice(body, 1).as_str(), second);
    }
}

#[test]
fn completions_of_single_choices_are_one_that_counts_all_of_them() {
    let part = |id: &str, said: &str, tokens: u32| {
        let text = format!(
            r#"{{"id":"{id}","object":"chat.completion","model":"m","choices":[{{"finish_reason":"stop","index":0,"message":{{"content":"{said}"}}}}],"usage":{{"prompt_tokens":7,"completion_tokens":{tokens},"total_tokens":{},"prompt_tokens_details":{{"cached_tokens":3}}}}}}"#,
            7 + tokens
        );
        parse_completion(text.as_bytes(), Reader::CHARGED).expect("a completion")
    };
    let parts = [part("x", "a", 5), part("y", "b", 9), part("z", "c", 1)];
    let joined = join_choices(&parts, 3).expect("three");
    let choice = |index: u32, said: &str| {
        format!(r#"{{"index":{index},"finish_reason":"stop","message":{{"content":"{said}"}}}}"#)
    };
    let choices = [choice(0, "a"), choice(1, "b"), choice(2, "c")].join(",");
    let expected = format!(
        r#"{{"id":"x","object":"chat.completion","model":"m","choices":[{choices}],"usage":{{"prompt_tokens":7,"completion_tokens":15,"total_tokens":22,"prompt_tokens_details":{{"cached_tokens":3}}}}}}"#
    );
    assert_eq!(joined.body.as_str(), expected);
    assert_eq!((choices_given(&parts[0]), choices_given(&joined)), (1, 3));
    assert_eq!(
        parse_completion(expected.as_bytes(), Reader::CHARGED).map(|read| read.usage),
        Ok(joined.usage)
    );
    assert_eq!(join_choices(&[], 3), None);
    let of_three_prompts = join_choices(&parts, 1).expect("three").body;
    let usage = r#""usage":{"prompt_tokens":21,"completion_tokens":15,"total_tokens":36,"#;
    assert!(of_three_prompts.as_str().contains(usage), "{}", of_three_prompts.as_str());
}
