use super::{BadCompletion, Completion, Reader, Warning, page_title};
use crate::chat::parse_completion;
use crate::json::minimize;

const USAGE: &str = r#"{"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#;
const CHOICE: &str = r#"{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}"#;
const FREE: Reader<'_> = Reader { is_charged: false, ..Reader::CHARGED };

fn answer(choices: &str, rest: &str) -> String {
    format!(r#"{{"object":"chat.completion","model":"m","choices":[{choices}]{rest}}}"#)
}

fn parse(answer: impl AsRef<[u8]>) -> Result<Completion, BadCompletion> {
    parse_completion(answer.as_ref(), Reader::CHARGED)
}

fn told(answer: impl AsRef<[u8]>) -> String {
    match parse(answer.as_ref()) {
        Ok(completion) => panic!("taken: {}", completion.body.as_str()),
        Err(BadCompletion::NotACompletion(words)) => format!("other: {words}"),
        Err(BadCompletion::Aborted(words)) => format!("aborted: {words}"),
        Err(BadCompletion::Reported { status, message }) => format!("{status}: {message}"),
        Err(BadCompletion::NoUsage(words)) => format!("no usage: {words}"),
    }
}

/// The params of the warnings of an accepted answer.
fn warned(answer: impl AsRef<[u8]>) -> Vec<&'static str> {
    let usual = super::tests::answer(CHOICE, &format!(r#","usage":{USAGE}"#));
    let text = String::from_utf8_lossy(answer.as_ref()).into_owned();
    let completion = parse(answer).unwrap_or_else(|error| panic!("{error}: {text}"));
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(value(completion.body.as_str()), value(&usual), "{text}");
    completion.warnings.iter().map(|warning| warning.param).collect()
}

#[test]
fn a_generation_that_the_engine_gave_up_is_aborted() {
    for (choice, words) in [
        (r#""finish_reason":"abort""#, " (finish_reason `abort`)"),
        (r#""finish_reason":"error""#, " (finish_reason `error`)"),
        (r#""finish_reason":"cancelled""#, " (finish_reason `cancelled`)"),
        (r#""finish_reason":"Canceled""#, " (finish_reason `Canceled`)"),
        (r#""finish_reason":"TIMEOUT""#, " (finish_reason `TIMEOUT`)"),
        (
            r#""finish_reason":"insufficient_system_resource""#,
            " (finish_reason `insufficient_system_resource`)",
        ),
        (
            r#""finish_reason":"error","native_finish_reason":"MALFORMED_FUNCTION_CALL""#,
            " (finish_reason `error`, native_finish_reason `MALFORMED_FUNCTION_CALL`)",
        ),
        (
            r#""finish_reason":{"type":"abort","message":"Aborted by the scheduler.","status_code":503}"#,
            " (finish_reason `abort`): Aborted by the scheduler.",
        ),
        (r#""finish_reason":"stop","error":{"code":502,"message":"Upstream died"}"#, ": Upstream died"),
        (
            r#""finish_reason":"error","native_finish_reason":"error","error":{"message":"Overloaded"}"#,
            " (finish_reason `error`): Overloaded",
        ),
    ] {
        for before in ["", &format!("{CHOICE},")] {
            let choice = format!(r#"{before}{{"message":{{"content":"partial"}},{choice}}}"#);
            let error = told(answer(&choice, &format!(r#","usage":{USAGE}"#)));
            assert_eq!(error, format!("aborted: the engine aborted the generation{words}"));
        }
    }
    let beside = answer(CHOICE, &format!(r#","usage":{USAGE},"error":{{"message":"Stream broke"}}"#));
    assert_eq!(told(beside), "aborted: the engine reports an error beside its answer: Stream broke");
    let unreported = answer(CHOICE, &format!(r#","usage":{USAGE},"error":null"#));
    assert!(parse(unreported).is_ok());
}

#[test]
fn a_blank_finish_reason_is_none() {
    for (reason, params) in [("\"stop\"", vec![]), ("\" \"", vec!["result_body.choices.finish_reason"])] {
        let choice = CHOICE.replace("\"stop\"", reason);
        let completion = parse(answer(&choice, &format!(r#","usage":{USAGE}"#))).expect(reason);
        assert_eq!(completion.warnings.iter().map(|it| it.param).collect::<Vec<_>>(), params, "{reason}");
    }
}

#[test]
fn a_200_that_reports_an_error_is_that_error() {
    for (body, error) in [
        (r#"{"error":{"message":"slow down","code":429}}"#, "429: slow down"),
        (r#"{"error":{"message":"slow down","code":"429"},"choices":[]}"#, "429: slow down"),
        (r#"{"error":{"message":"no","code":"rate_limit_exceeded"}}"#, "429: no"),
        (r#"{"error":{"message":"no","type":"invalid_request_error","code":null}}"#, "400: no"),
        (r#"{"error":{"message":"no","type":"invalid_request_error","code":"model_not_found"}}"#, "404: no"),
        (r#"{"error":{"message":"no","code":"a name of its own"}}"#, "500: no"),
        (r#"{"error":{"message":"no","code":200}}"#, "500: no"),
        (r#"{"error":{"message":"no","status":503}}"#, "503: no"),
        (r#"{"error":{"message":"no","http_status_code":422}}"#, "422: no"),
        (r#"{"error":"overloaded","status_code":529}"#, "529: overloaded"),
        (
            r#"{"error":"Unexpected endpoint or method. (POST /x)"}"#,
            "500: Unexpected endpoint or method. (POST /x)",
        ),
        (
            r#"{"object":"error","message":"too long","type":"BadRequestError","param":null,"code":400}"#,
            "400: too long",
        ),
        (r#"{"detail":"Not Found"}"#, "500: Not Found"),
        (r#"{"detail":[{"loc":["body","top_k"],"msg":"too small"}]}"#, "500: body.top_k: too small"),
        (r#"[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]"#, "503: overloaded"),
        (r#"{"errors":[{"message":"a"},{"message":"b"}],"status":"400"}"#, "400: a; b"),
        (r#"{"message":"Too many requests","code":429}"#, "429: Too many requests"),
        (r#"{"error":{"type":"x"}}"#, "500: the engine answered with an error that has no message"),
        (
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"busy upstream"}},"user_id":"u"}"#,
            "429: Provider returned error: busy upstream",
        ),
    ] {
        assert_eq!(told(body), error, "{body}");
    }
}

#[test]
fn a_message_is_found_in_every_form() {
    let found = |text: &str| {
        let text = minimize(text.as_bytes(), 0).expect(text);
        super::find_message(text.as_json()).unwrap_or_default()
    };
    for (body, message) in [
        (r#"{"error":{"message":"bad","param":"max_tokens"}}"#, "bad (param max_tokens)"),
        (r#"{"error":{"message":"'max_tokens' is bad","param":"max_tokens"}}"#, "'max_tokens' is bad"),
        (r#"{"error":"Bad Request","message":"n is too large","status":400}"#, "n is too large"),
        (r#"{"message":"{\"error\":{\"message\":\"inner\"}}"}"#, "inner"),
        (
            r#"{"error":{"message":"predict returned 500: {\"error\":{\"message\":\"inner\"}}"}}"#,
            "predict returned 500: inner",
        ),
        (r#"{"error":{"message":"use one of [1, 2] or {x}"}}"#, "use one of [1, 2] or {x}"),
        (
            r#"{"errors":{"temperature":["must be positive","must be a number"]}}"#,
            "temperature: must be positive; must be a number",
        ),
        (r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, "Overloaded"),
        (r#"{"status":429,"title":"Too Many Requests"}"#, "Too Many Requests"),
        (r#"{"detail":[{"loc":["body",0,"x"],"msg":"a"},{"msg":"b"}]}"#, "body.0.x: a; b"),
        (r#"{"error":null}"#, ""),
        (r#"{"error":{"code":3}}"#, ""),
        ("7", ""),
        (r#""text""#, "text"),
    ] {
        assert_eq!(found(body), message, "{body}");
    }
    let deep = format!("{}\"a\"{}", r#"{"error":"#.repeat(50), "}".repeat(50));
    assert_eq!(found(&deep), "");
    let long = format!(r#"{{"error":"{}"}}"#, "é".repeat(5_000));
    assert_eq!(found(&long).len(), 2_048);
}

#[test]
fn a_usage_is_computed_as_far_as_the_engine_reports_it() {
    for (usage, counts) in [
        (USAGE, (3, 5, 8)),
        (r#"{"prompt_tokens":3.0,"completion_tokens":5.0,"total_tokens":8.0}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":3,"completion_tokens":5}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":3,"completion_tokens":5,"total_tokens":null}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":3,"total_tokens":8}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":null,"completion_tokens":5,"total_tokens":8}"#, (3, 5, 8)),
        (r#"{"completion_tokens":5e0,"total_tokens":8}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":1,"prompt_tokens":3,"completion_tokens":5,"total_tokens":8}"#, (3, 5, 8)),
        (r#"{"prompt_tokens":3,"completion_tokens":5,"total_tokens":20}"#, (3, 5, 20)),
    ] {
        let completion = parse(answer(CHOICE, &format!(r#","usage":{usage}"#))).expect(usage);
        let it = completion.usage;
        assert_eq!((it.prompt_tokens, it.completion_tokens, it.total_tokens), counts, "{usage}");
        let again = parse(completion.body.as_str()).expect("an answer");
        assert_eq!(
            (again.usage, again.body.as_str()),
            (it, completion.body.as_str()),
            "what is stored says the same"
        );
    }
}

#[test]
fn an_answer_without_a_usage_is_taken_only_if_nothing_is_charged() {
    for (usage, fault, counts) in [
        ("", "usage is missing", (0, 0)),
        (r#","usage":null"#, "usage is missing", (0, 0)),
        (r#","usage":7"#, "usage is not an object", (0, 0)),
        (r#","usage":{}"#, "usage.prompt_tokens is missing", (0, 0)),
        (r#","usage":{"prompt_tokens":3}"#, "usage.completion_tokens is missing", (3, 0)),
        (
            r#","usage":{"prompt_tokens":3,"completion_tokens":-1,"total_tokens":3}"#,
            "usage.completion_tokens is -1, not a count of tokens",
            (3, 0),
        ),
        (
            r#","usage":{"prompt_tokens":3.5,"completion_tokens":1}"#,
            "usage.prompt_tokens is 3.5, not a count of tokens",
            (0, 1),
        ),
        (
            r#","usage":{"prompt_tokens":"3","completion_tokens":1}"#,
            "usage.prompt_tokens is \"3\", not a count of tokens",
            (0, 1),
        ),
        (
            r#","usage":{"prompt_tokens":9223372036854775808,"completion_tokens":1}"#,
            "usage.prompt_tokens is 9223372036854775808, not a count of tokens",
            (0, 1),
        ),
        (r#","usage":{"prompt_tokens":9,"total_tokens":8}"#, "usage.completion_tokens is missing", (9, 0)),
    ] {
        let answer = answer(CHOICE, usage);
        assert_eq!(told(&answer), format!("no usage: {fault}"));
        let completion = parse_completion(answer.as_bytes(), FREE).expect(usage);
        assert_eq!((completion.usage.prompt_tokens, completion.usage.completion_tokens), counts, "{usage}");
        let [warning] = &*completion.warnings else { panic!("{usage}: {:?}", completion.warnings) };
        let words = format!("The engine did not report a usable usage: {fault}. A missing count is 0.");
        assert_eq!((warning.param, &*warning.message), ("result_body.usage", &*words));
        let again = parse(completion.body.as_str()).expect("an answer");
        assert_eq!((again.usage, again.body), (completion.usage, completion.body), "what is stored says so");
    }
}

#[test]
fn an_answer_that_is_almost_right_is_taken() {
    let usual = answer(CHOICE, &format!(r#","usage":{USAGE}"#));
    let spaced = usual.replace(',', " ,\r\n");
    for (name, text) in [
        ("a byte order mark", format!("\u{feff}{usual}")),
        ("spaces before it", format!("   {spaced}\n")),
        ("another object", usual.replace("chat.completion", "text_completion")),
        ("the end of a stream behind it", format!("{usual}\n\ndata: [DONE]\n\n")),
    ] {
        assert_eq!(warned(&text), [""; 0], "{name}");
    }
    let doubled = usual.replace(r#""content":"hi""#, r#""content":"no","content":"hi""#);
    assert_eq!(warned(doubled), ["result_body"]);
    assert_eq!(warned(usual.replace(r#""object":"chat.completion","#, "")), [""; 0]);
}

#[test]
fn each_kind_of_repair_has_one_warning() {
    let answer = |content: &[u8], logprob: &str| {
        let choice = CHOICE.replace(r#""index":0"#, &format!(r#""logprobs":{{"p":{logprob}}}"#));
        let text = answer(&choice, &format!(r#","usage":{USAGE}"#));
        let (before, after) = text.split_once("hi").expect("its content");
        [before.as_bytes(), content, after.as_bytes()].concat()
    };
    for (content, logprob, kept, words) in [
        (&b"hi"[..], "NaN", "hi", "numbers that are not finite became null"),
        (b"hi", "-Infinity", "hi", "numbers that are not finite became null"),
        (b"a\nb\0", "null", r"a\nb\u0000", "control characters were escaped"),
        (b"a\xff", "null", "a\u{fffd}", "invalid characters became U+FFFD"),
        (br"a\ud800", "null", "a\u{fffd}", "invalid characters became U+FFFD"),
        (
            b"\x01\xff",
            "NaN",
            "\\u0001\u{fffd}",
            "numbers that are not finite became null, control characters were escaped, invalid characters became U+FFFD",
        ),
    ] {
        let completion = parse(answer(content, logprob)).expect(words);
        let expected = String::from_utf8(answer(kept.as_bytes(), "null")).expect("UTF-8");
        assert_eq!(completion.body.as_str(), expected);
        let [warning] = &*completion.warnings else { panic!("{:?}", completion.warnings) };
        let words = format!("The engine's JSON was invalid: {words}.");
        assert_eq!((warning.param, &*warning.message), ("result_body", &*words));
    }
}

#[test]
fn the_error_names_the_body_that_came_instead_of_json() {
    for (body, words) in [
        ("", "the engine's answer is empty"),
        (" \r\n", "the engine's answer is empty"),
        (
            "<!DOCTYPE html>\n<html><head><TITLE lang=en> Sign\n in &amp; go </TITLE></head></html>",
            "the engine answered with an HTML page titled \"Sign in & go\"",
        ),
        (
            "<html><body><h1>504 Gateway Time-out</h1></body></html>",
            "the engine answered with an HTML page titled \"504 Gateway Time-out\"",
        ),
        ("<html></html>", "the engine answered with an HTML page"),
        ("<?xml version=\"1.0\"?><a/>", "the engine answered with an XML document"),
        ("upstream connect error", "the engine's answer is not JSON: at byte 0: expected a value"),
        (
            r#"{"choices":[{"message":{"content":"hi"}"#,
            "the engine's answer is not JSON: at byte 39: expected a comma or a closing brace",
        ),
        (
            "data: [DONE]\n\n",
            "the engine answered with an event stream, which it was not asked for: no event has a part of an answer",
        ),
        (
            "data: {\"a\":\n\n",
            "the engine answered with an event stream, which it was not asked for: an event is not JSON: at byte 5: expected a value",
        ),
    ] {
        assert_eq!(told(body), format!("other: {words}"), "{body}");
    }
    assert_eq!(page_title(b"{\"html\":\"<html>\"}"), None);
    assert_eq!(page_title(b"<a>"), None);
}

#[test]
fn an_event_stream_becomes_one_answer() {
    let chunk = |choices: &str, usage: &str| {
        format!(
            r#"data: {{"id":"x","object":"chat.completion.chunk","model":"e","choices":[{choices}],"usage":{usage}}}"#
        )
    };
    let delta = |index: u32, delta: &str, reason: &str| {
        format!(r#"{{"index":{index},"delta":{{{delta}}},"finish_reason":{reason}}}"#)
    };
    let stream = [
        ": PROCESSING".to_owned(),
        chunk(&delta(0, r#""role":"assistant","content":"""#, "null"), "null"),
        chunk(&delta(0, r#""role":null,"content":"Hel""#, "null"), "null"),
        "data: : PROCESSING".to_owned(),
        chunk(&delta(1, r#""reasoning_content":"Hm""#, "null"), "null"),
        chunk(&delta(0, r#""content":"lo\n""#, r#""stop""#), "null"),
        chunk(
            &delta(
                1,
                r#""tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\""}}]"#,
                "null",
            ),
            "null",
        ),
        chunk(
            &delta(1, r#""tool_calls":[{"index":0,"function":{"arguments":":1}"}}]"#, r#""tool_calls""#),
            "null",
        ),
        chunk("", USAGE),
        "data: [DONE]".to_owned(),
    ];
    let expected = format!(
        r#"{{"object":"chat.completion","id":"x","model":"m","usage":{USAGE},"choices":[{{"index":0,"message":{{"role":"assistant","content":"Hello\n"}},"finish_reason":"stop"}},{{"index":1,"message":{{"role":"assistant","content":null,"reasoning_content":"Hm","tool_calls":[{{"id":"c","type":"function","function":{{"name":"f","arguments":"{{\"a\":1}}"}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    );
    for end in ["\n\n", "\r\n\r\n"] {
        let completion = parse(stream.join(end)).expect("an answer");
        assert_eq!(completion.body.as_str(), expected);
        assert_eq!(completion.warnings, []);
    }
    let whole = answer(CHOICE, &format!(r#","usage":{USAGE}"#));
    assert_eq!(warned(format!("event: message\ndata: {whole}\n\ndata: [DONE]\n\n")), [""; 0]);
    let error = r#"data: {"error":{"message":"tool_use_failed","code":400}}"#;
    assert_eq!(told(error), "400: tool_use_failed");
    let cut = stream[..3].join("\n\n");
    let completion = parse_completion(cut.as_bytes(), FREE).expect("a beginning");
    let params: Vec<_> = completion.warnings.iter().map(|warning| warning.param).collect();
    assert_eq!(params, ["result_body.choices.finish_reason", "result_body.usage"]);
}

#[test]
fn a_usage_of_zeros_beside_a_text_is_taken_with_a_warning() {
    let zeros = r#","usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#;
    for (message, usage, warned) in [
        (r#""content":"hi""#, zeros, true),
        (r#""content":"hi""#, r#","usage":{"prompt_tokens":3,"completion_tokens":0}"#, true),
        (r#""content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]"#, zeros, true),
        (r#""content":"hi""#, r#","usage":{"prompt_tokens":0,"completion_tokens":1}"#, false),
        (r#""content":"""#, zeros, false),
        (r#""content":null,"tool_calls":[]"#, zeros, false),
    ] {
        let choice = format!(r#"{{"message":{{{message}}},"finish_reason":"stop"}}"#);
        for reader in [FREE, Reader::CHARGED] {
            let read = parse_completion(answer(&choice, usage).as_bytes(), reader).expect(message);
            let params: Vec<_> = read.warnings.iter().map(|it| it.param).collect();
            assert_eq!(params, vec![Warning::USAGE; usize::from(warned)], "{message}{usage}");
        }
    }
    let text = format!(
        r#"{{"object":"text_completion","choices":[{{"text":"hi","finish_reason":"stop"}}]{zeros}}}"#
    );
    let read = crate::completions::parse_completion(text.as_bytes(), FREE).expect("a completion");
    assert_eq!(read.warnings.iter().map(|it| it.param).collect::<Vec<_>>(), [Warning::USAGE]);
}
