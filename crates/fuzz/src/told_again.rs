//! A dialect's answers are accepted when a client sends them back, as in each turn of a conversation, with the same meaning.

use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::json::{Json, JsonText, minimize};
use overnight_domain::limits::Limits;
use overnight_domain::records::RequestRecord;
use overnight_wire::anthropic::{self, Message};
use overnight_wire::openai::responses::{ItemsPage, chat_call, write_input_items, write_response};
use serde_json::{Value, json};

use crate::oracles::assert_line;
use crate::records;

/// Members of a response that repeat the request unchanged.
const ASKED: [&str; 6] =
    ["instructions", "temperature", "top_p", "max_output_tokens", "user", "parallel_tool_calls"];

/// Members of a tool in a response.
const TOOL: [&str; 5] = ["type", "name", "description", "parameters", "strict"];

/// An accepted body of Create Response is returned as it was sent, and its input is accepted again.
pub(crate) fn check_response(body: Json<'_>) {
    let Ok(call) = chat_call(body) else { return };
    let chat = call.body.as_json();
    if RequestBody::parse(Endpoint::ChatCompletions, chat, "request_body", &Limits::default()).is_err() {
        return;
    }
    let request = records::request(records::STATES[1], Endpoint::ChatCompletions, chat);
    let sent = value_of(body);
    let told = told(&request, write_response);
    for member in ASKED {
        assert_same(member, &sent[member], &told[member]);
    }
    let (tools, told_tools) = (list(&sent["tools"]), list(&told["tools"]));
    assert_eq!(tools.len(), told_tools.len(), "{told}");
    for (sent, told) in tools.iter().zip(told_tools) {
        for member in TOOL {
            assert_same(member, &sent[member], &told[member]);
        }
    }
    let page = ItemsPage { is_newest_first: false, limit: usize::MAX, after: None };
    let items = self::told(&request, |request, out| write_input_items(request, &page, out));
    let again = json!({"model": sent["model"], "instructions": told["instructions"], "input": items["data"]});
    let again = taken(&again);
    let messages = |chat: Json<'_>| without_defaults(value_of(chat)["messages"].clone());
    assert_eq!(messages(again.as_json()), messages(chat), "{items}");
}

/// The output of a response, and the content of a message, are accepted as turns of the assistant.
pub(crate) fn check_answer(request: &RequestRecord) {
    let response = told(request, write_response);
    let mut input = vec![json!({"role": "user", "content": "Hi"})];
    input.extend(response["output"].as_array().expect("an output").iter().cloned());
    taken(&json!({"model": "m", "input": input}));
    let message = told(request, |request, out| Message::of(request).write(out));
    let content = list(&message["content"]);
    if content.is_empty() {
        return;
    }
    let calls = content.iter().filter(|block| block["type"] == "tool_use");
    let mut next: Vec<Value> =
        calls.map(|call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": "7"})).collect();
    next.push(json!({"type": "text", "text": "Go on"}));
    let turns = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": content},
        {"role": "user", "content": next},
    ]);
    let params = json!({"model": "m", "max_tokens": 9, "messages": turns});
    let params = minimize(params.to_string().as_bytes(), 0).expect("JSON");
    let chat = anthropic::to_chat(params.as_json());
    assert_body(&chat.unwrap_or_else(|faults| panic!("{faults:?} in {}", params.as_str())));
}

/// The chat completion of an accepted response.
fn taken(response: &Value) -> JsonText {
    let text = minimize(response.to_string().as_bytes(), 0).expect("JSON");
    let call = chat_call(text.as_json()).unwrap_or_else(|faults| panic!("{faults:?} in {response}"));
    assert_body(&call.body);
    call.body
}

fn assert_body(chat: &JsonText) {
    let body =
        RequestBody::parse(Endpoint::ChatCompletions, chat.as_json(), "request_body", &Limits::default());
    assert!(body.is_ok(), "{body:?} in {}", chat.as_str());
}

fn told(request: &RequestRecord, write: impl Fn(&RequestRecord, &mut Vec<u8>)) -> Value {
    let mut line = Vec::new();
    write(request, &mut line);
    assert_line(&line)
}

fn value_of(json: Json<'_>) -> Value {
    serde_json::from_str(json.as_str()).expect("JSON")
}

/// Removes members that responses must have though requests may omit them.
fn without_defaults(value: Value) -> Value {
    match value {
        Value::Array(elements) => elements.into_iter().map(without_defaults).collect(),
        Value::Object(members) => {
            let members = members.into_iter().filter(|(key, value)| key != "detail" || value != "auto");
            members.map(|(key, value)| (key, without_defaults(value))).collect()
        }
        other => other,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[track_caller]
fn assert_same(member: &str, sent: &Value, told: &Value) {
    assert!(sent.is_null() || sent == told, "{member}: {sent} was sent, {told} is told");
}
