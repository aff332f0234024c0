use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::{ClientFields, RequestRecord, RequestSummary};
use overnight_domain::requests::RequestState;
use serde_json::{Value, json};

use super::{chat, text, value};
use crate::openai::responses::*;

/// A request made from the body of a response.
fn request(body: &Value, state: RequestState, result: Option<&Value>) -> RequestRecord {
    let call = chat_call(text(body).as_json()).expect("a chat completion");
    RequestRecord {
        summary: RequestSummary { id: RequestId::from_bits(7), state, created_at: 5_999, expires_at: 9_000 },
        batch_id: None,
        endpoint: Endpoint::ChatCompletions,
        client: ClientFields { metadata: call.metadata.map(|it| it.into_string().into()), webhook: None },
        body: call.body.into_string().into(),
        result: result.map(|result| result.to_string().into()),
        warnings: None,
        attempts: Vec::new(),
    }
}

const COMPLETED: RequestState = RequestState::Completed { in_progress_at: 6_000, ended_at: 7_999 };

fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({"id": "c", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": null}})
}

fn read(request: &RequestRecord) -> Value {
    let mut out = Vec::new();
    write_response(request, &mut out);
    serde_json::from_slice(&out).expect("JSON")
}

fn events(write: impl FnOnce(&mut Vec<u8>)) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    write(&mut out);
    let text = String::from_utf8(out).expect("text");
    let events = text.split_terminator("\n\n").map(|event| {
        let (name, data) = event.split_once('\n').expect("a name and data");
        let name = name.strip_prefix("event: ").expect("a name");
        (name.to_owned(), value(data.strip_prefix("data: ").expect("data")))
    });
    events.collect()
}

#[test]
fn formats_tools_and_choices_have_their_form_and_come_back() {
    let tool = json!({"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true});
    let format = json!({"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true});
    let body = json!({"model": "m", "input": "x", "tools": [tool], "tool_choice": {"type": "function", "name": "f"},
        "text": {"format": format, "verbosity": "low"}});
    let sent = chat(&body);
    assert_eq!(sent["tools"][0]["function"]["name"], "f");
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": "f"}}));
    assert_eq!(sent["response_format"]["json_schema"]["schema"], json!({"type": "object"}));
    let response = read(&request(&body, RequestState::Queued, None));
    for member in ["tools", "tool_choice", "text"] {
        assert_eq!(response[member], body[member], "{member}");
    }
    let plain = read(&request(&json!({"model": "m", "input": "x"}), RequestState::Queued, None));
    assert_eq!(plain["text"], json!({"format": {"type": "text"}}));
    assert_eq!((&plain["tools"], &plain["tool_choice"]), (&json!([]), &json!("auto")));
    let body = json!({"model": "m", "input": "x", "text": {"format": {"type": "json_object"}}, "tool_choice": "none"});
    let response = read(&request(&body, RequestState::Queued, None));
    assert_eq!((&response["text"], &response["tool_choice"]), (&body["text"], &json!("none")));
}

#[test]
fn a_completion_becomes_the_output_of_the_response() {
    let message = json!({"role": "assistant", "content": "Hi\n", "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let body = json!({"model": "m", "input": "x", "instructions": "I", "metadata": {"a": "b"}, "max_output_tokens": 4});
    let response = read(&request(&body, COMPLETED, Some(&completion(&message, "stop"))));
    assert_eq!(
        (&response["id"], &response["status"]),
        (&json!("resp_00000000000000000000000007"), &json!("completed"))
    );
    assert_eq!((&response["created_at"], &response["completed_at"]), (&json!(5), &json!(7)));
    assert_eq!((&response["instructions"], &response["max_output_tokens"]), (&json!("I"), &json!(4)));
    assert_eq!((&response["metadata"], &response["error"]), (&json!({"a": "b"}), &Value::Null));
    let output = response["output"].as_array().expect("items");
    let kinds: Vec<&Value> = output.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["reasoning", "message", "function_call"]);
    assert_eq!(output[0]["content"], json!([{"type": "reasoning_text", "text": "hm"}]));
    assert_eq!(output[1]["content"][0]["text"], "Hi\n");
    assert_eq!((&output[2]["call_id"], &output[2]["arguments"]), (&json!("c1"), &json!("{}")));
    let usage = json!({"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0}, "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 5});
    assert_eq!(response["usage"], usage);
}

#[test]
fn every_end_has_its_status() {
    let body = json!({"model": "m", "input": "x"});
    let cut = completion(&json!({"role": "assistant", "content": "Hi"}), "length");
    let response = read(&request(&body, COMPLETED, Some(&cut)));
    assert_eq!(response["status"], "incomplete");
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let failure = json!({"error": {"message": "no", "type": "invalid_request_error", "code": "engine_rejected", "param": null}});
    let failed = RequestState::Failed { in_progress_at: None, ended_at: 7_000 };
    let response = read(&request(&body, failed, Some(&failure)));
    assert_eq!(
        (&response["status"], &response["error"]["code"]),
        (&json!("failed"), &json!("invalid_prompt"))
    );
    assert_eq!((&response["error"]["message"], &response["output"]), (&json!("no"), &json!([])));
    let cancelled = RequestState::Queued.cancel(8_000).expect("a state");
    assert_eq!(read(&request(&body, cancelled, None))["status"], "cancelled");
    assert_eq!(read(&request(&body, RequestState::Queued, None))["status"], "queued");
    let in_progress = RequestState::InProgress { in_progress_at: 6_000 };
    assert_eq!(read(&request(&body, in_progress, None))["status"], "in_progress");
}

#[test]
fn a_call_of_a_function_can_be_sent_back_however_its_engine_writes_it() {
    let arguments = |arguments: Value| {
        let message = json!({"tool_calls": [{"id": 7, "function": {"name": "f", "arguments": arguments}},
            {"function": {"name": null, "arguments": "{}"}}, {"function": {}}]});
        let request =
            request(&json!({"model": "m", "input": "x"}), COMPLETED, Some(&completion(&message, "stop")));
        let output = read(&request)["output"].clone();
        let sent_back = json!({"model": "m", "input": output});
        assert!(chat_call(text(&sent_back).as_json()).is_ok(), "{output}");
        assert_eq!(output.as_array().map(Vec::len), Some(1), "{output}");
        output[0]["arguments"].clone()
    };
    assert_eq!(arguments(json!("{\"a\": 1}")), "{\"a\": 1}");
    assert_eq!(arguments(json!({"a": 1})), "{\"a\":1}");
    assert_eq!(arguments(Value::Null), "");
}

#[test]
fn the_events_of_a_response_are_numbered_and_add_up_to_it() {
    let message = json!({"role": "assistant", "content": "Hi", "reasoning": "hm", "refusal": null,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let request =
        request(&json!({"model": "m", "input": "x"}), COMPLETED, Some(&completion(&message, "tool_calls")));
    let mut all = events(|out| write_opening(&request, None, out));
    assert_eq!(all[0].1["response"]["status"], "queued");
    all.extend(events(|out| write_ending(&request, None, out)));
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let expected = "response.created response.queued response.in_progress \
        response.output_item.added response.content_part.added response.reasoning_text.delta response.reasoning_text.done \
        response.content_part.done response.output_item.done \
        response.output_item.added response.content_part.added response.output_text.delta response.output_text.done \
        response.content_part.done response.output_item.done \
        response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done \
        response.output_item.done response.completed";
    assert_eq!(names, expected.split_ascii_whitespace().collect::<Vec<_>>());
    for (number, (name, event)) in (0..).zip(&all) {
        assert_eq!((&event["type"], &event["sequence_number"]), (&json!(name), &json!(number)));
    }
    let items: Vec<&Value> = all
        .iter()
        .filter(|(name, _)| name == "response.output_item.done")
        .map(|(_, event)| &event["item"])
        .collect();
    let response = &all.last().expect("an end").1["response"];
    assert_eq!(response["output"].as_array().expect("items").iter().collect::<Vec<_>>(), items);
    assert_eq!(*response, read(&request));
    // A stream that is read later begins the same way.
    let waiting = RequestRecord {
        summary: RequestSummary { state: RequestState::Queued, ..request.summary },
        result: None,
        ..request.clone()
    };
    assert_eq!(events(|out| write_opening(&waiting, None, out)), all[..2]);
    assert_eq!(events(|out| write_opening(&request, Some(0), out)).len(), 1);
    assert_eq!(events(|out| write_ending(&request, Some(18), out)), all[19..]);
}

#[test]
fn a_stream_tells_of_an_end_that_is_no_completion() {
    let body = json!({"model": "m", "input": "x"});
    let failure =
        json!({"error": {"message": "no", "type": "server_error", "code": "expired", "param": null}});
    let failed = RequestState::Failed { in_progress_at: None, ended_at: 7_000 };
    let ending = events(|out| write_ending(&request(&body, failed, Some(&failure)), None, out));
    assert_eq!((ending.len(), ending[0].0.as_str()), (1, "response.failed"));
    assert_eq!(ending[0].1["response"]["error"]["code"], "server_error");
    let cancelled = RequestState::Queued.cancel(8_000).expect("a state");
    let ending = events(|out| write_ending(&request(&body, cancelled, None), None, out));
    assert_eq!((ending[0].0.as_str(), &ending[0].1["code"]), ("error", &json!("cancelled")));
    let cut = completion(&json!({"role": "assistant", "refusal": "No."}), "length");
    let ending = events(|out| write_ending(&request(&body, COMPLETED, Some(&cut)), None, out));
    assert!(ending.iter().any(|(name, event)| name == "response.refusal.done" && event["refusal"] == "No."));
    assert_eq!(ending.last().expect("an end").0, "response.incomplete");
}

#[test]
fn input_items_are_what_the_messages_were_made_of() {
    let input = json!([
        {"role": "user", "content": [{"type": "input_text", "text": "See"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
        {"role": "assistant", "content": "Looking."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "1"},
    ]);
    let body = json!({"model": "m", "instructions": "I", "input": input});
    let list = |is_newest_first, limit, after: Option<&str>| {
        let page = ItemsPage { is_newest_first, limit, after: after.map(str::to_owned) };
        let mut out = Vec::new();
        write_input_items(&request(&body, RequestState::Queued, None), &page, &mut out);
        serde_json::from_slice::<Value>(&out).expect("JSON")
    };
    let listed = list(false, 9, None);
    let items = listed["data"].as_array().expect("items");
    let kinds: Vec<&Value> = items.iter().map(|item| &item["type"]).collect();
    assert_eq!(kinds, ["message", "message", "function_call", "function_call_output"]);
    assert_eq!(items[0]["content"][0], json!({"type": "input_text", "text": "See"}));
    assert_eq!(items[0]["content"][1]["image_url"], "data:image/png;base64,AA==");
    assert_eq!(items[1]["content"][0]["type"], "output_text");
    assert_eq!((&items[3]["call_id"], &items[3]["output"]), (&json!("c1"), &json!("1")));
    assert_eq!((&listed["first_id"], &listed["last_id"]), (&items[0]["id"], &items[3]["id"]));
    let after = items[1]["id"].as_str();
    for (is_newest_first, limit, after, expected, has_more) in [
        (true, 9, None, [3, 2, 1, 0].as_slice(), false),
        (true, 1, None, &[3], true),
        (true, 1, after, &[0], false),
        (false, 1, after, &[2], true),
        (false, 2, after, &[2, 3], false),
        (false, 1, Some("unknown"), &[0], true),
        (false, 1, Some("msg_01jz8m3v6qf8jbk2w5n7y9t0xd01"), &[0], true),
    ] {
        let page = list(is_newest_first, limit, after);
        let expected: Vec<Value> = expected.iter().map(|place: &usize| items[*place].clone()).collect();
        assert_eq!((&page["data"], &page["has_more"]), (&json!(expected), &json!(has_more)));
    }
}
