use super::super::parse_completion;
use crate::answers::{BadCompletion, Reader, Usage};

const USAGE: &str = r#""usage":{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#;

fn answer(choices: &str, rest: &str) -> String {
    format!(r#"{{"id":"x","object":"chat.completion","model":"org/M","choices":{choices},{rest}}}"#)
}

#[test]
fn a_completion_keeps_everything_but_white_space_and_the_model() {
    let raw =
        answer("[ {\"message\" : {\"role\":\"assistant\",\"content\":\"a\\n b\"},\n\"x\":1.0} ]", USAGE);
    let completion = parse_completion(raw.as_bytes(), Reader { client_model: "mine", ..Reader::CHARGED })
        .expect("a completion");
    let kept = answer(r#"[{"message":{"role":"assistant","content":"a\n b"},"x":1.0}]"#, USAGE);
    assert_eq!(completion.body.as_str(), kept.replace("org/M", "mine"));
    assert_eq!(
        completion.usage,
        Usage { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8, cached_tokens: None }
    );
    assert_eq!((completion.usage.cost(), completion.usage.tokens()), (3 + 2 * 5, 3 + 5));
}

#[test]
fn cached_tokens_are_read_where_they_are_told_and_never_more_than_the_prompt_has() {
    for (details, cached) in [
        (r#"{"cached_tokens":2}"#, Some(2)),
        (r#"{"cached_tokens":9}"#, Some(3)),
        (r#"{"cached_tokens":-1}"#, None),
        (r#"{"cached_tokens":"2"}"#, None),
        ("{}", None),
        ("null", None),
    ] {
        let usage = USAGE.replace("\"total", &format!("\"prompt_tokens_details\":{details},\"total"));
        let completion = parse_completion(answer(r#"[{"message":{}}]"#, &usage).as_bytes(), Reader::CHARGED)
            .expect(details);
        assert_eq!(completion.usage.cached_tokens, cached, "{details}");
    }
}

#[test]
fn a_completion_without_a_model_gets_one() {
    let raw = format!(r#"{{"object":"chat.completion","choices":[{{"message":{{}}}}],{USAGE}}}"#);
    let completion = parse_completion(raw.as_bytes(), Reader { client_model: "mine", ..Reader::CHARGED })
        .expect("a completion");
    assert!(completion.body.as_str().ends_with(r#","model":"mine"}"#));
}

#[test]
fn an_answer_of_another_shape_is_no_completion() {
    for (answer, why) in [
        (answer("[]", USAGE), "it has no choices"),
        (answer("{}", USAGE), "it has no choices"),
        ("[]".to_owned(), "it has no choices"),
        ("7".to_owned(), "it has no choices"),
        (answer(r#"[{"message":{}},{"text":"a"}]"#, USAGE), "a choice has no message"),
        (answer(r#"[{"message":"a"}]"#, USAGE), "a choice has no message"),
        (answer(r#"[{"message":null}]"#, USAGE), "a choice has no message"),
        (answer(r#"[{"delta":{"content":"a"}}]"#, USAGE), "a choice has no message"),
        (answer(r#"[{"delta":{},"finish_reason":"length"}]"#, USAGE), "a choice has no message"),
        (answer(r#"[{"message":"a","finish_reason":"length"}]"#, USAGE), "a choice has no message"),
    ] {
        let error = parse_completion(answer.as_bytes(), Reader::CHARGED).expect_err(&answer);
        let words = format!("the engine's answer is not a chat.completion object: {why}");
        assert_eq!(error, BadCompletion::NotACompletion(words));
    }
}

#[test]
fn a_choice_that_reached_its_output_limit_without_a_message_gets_one() {
    for message in ["", r#""message":null,"#] {
        let choices = format!(r#"[{{{message}"finish_reason":"length","index":0}}]"#);
        let completion =
            parse_completion(answer(&choices, USAGE).as_bytes(), Reader::CHARGED).expect("a completion");
        let expected = r#""choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":null}}],"usage""#;
        assert!(completion.body.as_str().contains(expected), "{}", completion.body.as_str());
        let params: Vec<_> = completion.warnings.iter().map(|warning| warning.param).collect();
        assert_eq!(params, ["result_body.choices.message.content"]);
    }
}

fn warned(message: &str, finish_reason: &str) -> Vec<&'static str> {
    let choice = format!(r#"[{{"message":{message},"finish_reason":{finish_reason}}}]"#);
    let completion = parse_completion(answer(&choice, USAGE).as_bytes(), Reader::CHARGED).expect(message);
    assert!(completion.warnings.iter().all(|warning| warning.message.len() <= 200));
    completion.warnings.iter().map(|warning| warning.param).collect()
}

#[test]
fn an_odd_choice_is_taken_with_a_warning() {
    const REASON: &str = "result_body.choices.finish_reason";
    const CONTENT: &str = "result_body.choices.message.content";
    const CALLS: &str = "result_body.choices.message.tool_calls";
    let calls = |arguments: &str| {
        format!(r#"{{"content":null,"tool_calls":[{{"function":{{"name":"f","arguments":{arguments}}}}}]}}"#)
    };
    for (message, finish_reason, expected) in [
        (r#"{"content":"a"}"#.to_owned(), r#""stop""#, &[][..]),
        (r#"{"content":"a"}"#.to_owned(), "null", &[REASON]),
        (r#"{"content":"a"}"#.to_owned(), r#""eos_token""#, &[]),
        (r#"{"content":"a"}"#.to_owned(), r#"{"type":"stop","matched":2}"#, &[]),
        (r#"{"content":null}"#.to_owned(), r#""length""#, &[CONTENT]),
        (r#"{"role":"assistant"}"#.to_owned(), r#""length""#, &[CONTENT]),
        (r#"{"content":""}"#.to_owned(), r#""length""#, &[]),
        (r#"{"content":null}"#.to_owned(), r#""stop""#, &[]),
        (r#"{"content":null,"reasoning":"Hm."}"#.to_owned(), r#""length""#, &[]),
        (r#"{"content":null,"reasoning_content":""}"#.to_owned(), r#""length""#, &[CONTENT]),
        (calls(r#""{\"a\":1}""#), r#""length""#, &[]),
        (calls(r#""{\"a\":""#), r#""tool_calls""#, &[CALLS]),
        (calls(r#""""#), r#""tool_calls""#, &[CALLS]),
        (calls(r#"{"a":1}"#), r#""tool_calls""#, &[]),
        (calls(r#""{""#), "null", &[REASON, CALLS]),
    ] {
        assert_eq!(warned(&message, finish_reason), expected, "{message} {finish_reason}");
    }
}
