//! The input items of a response, as the messages of a chat completion.

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

use super::config::type_of;
use super::content::read_content;

const ROLES: [&str; 4] = ["user", "assistant", "system", "developer"];
const TYPES: &str = "message, function_call, function_call_output, reasoning";

#[derive(Default)]
pub(super) struct Messages {
    done: Vec<JsonText>,
    /// The last message of the model, to which function calls may be added.
    assistant: Option<Assistant>,
}

#[derive(Default)]
struct Assistant {
    content: Option<JsonText>,
    calls: Vec<JsonText>,
}

impl Messages {
    pub(super) fn say(&mut self, role: &str, content: Json<'_>) {
        self.end_assistant();
        let mut message = ObjectWriter::with_capacity(content.as_str().len() + 64);
        message.string("role", role);
        message.json("content", content);
        self.done.push(message.finish());
    }

    pub(super) fn read_input(&mut self, input: Json<'_>, faults: &mut Faults) {
        match (input.kind(), input.elements()) {
            (Kind::String, _) => self.say("user", input),
            (_, Some(items)) => {
                for (index, item) in items.enumerate() {
                    self.read_item(item, &format!("input[{index}]"), faults);
                }
            }
            _ => faults.push("input", codes::WRONG_TYPE, "must be a string or an array of items"),
        }
    }

    pub(super) fn finish(mut self) -> Vec<JsonText> {
        self.end_assistant();
        self.done
    }

    fn read_item(&mut self, item: Json<'_>, path: &str, faults: &mut Faults) {
        let Some(item) = item.to_object() else {
            return faults.push(path, codes::WRONG_TYPE, "must be an item");
        };
        let kind = type_of(&item);
        match kind.as_deref().unwrap_or(if item.get("role").is_some() { "message" } else { "" }) {
            "message" => self.read_message(&item, path, faults),
            "function_call" => self.read_call(&item, path, faults),
            "function_call_output" => self.read_output(&item, path, faults),
            // Thoughts are not sent again; models are trained without them.
            "reasoning" => {}
            kind => {
                let message = format_args!("must be one of {TYPES}, not '{}'", Quoted(kind));
                faults.push(format_args!("{path}.type"), codes::NOT_ALLOWED, message);
            }
        }
    }

    fn read_message(&mut self, item: &RawObject<'_>, path: &str, faults: &mut Faults) {
        let role = item.get("role").and_then(Json::decode_string);
        let Some(role) = role.filter(|role| ROLES.contains(&role.as_ref())) else {
            let message = format_args!("must be one of {}", ROLES.join(", "));
            return faults.push(format_args!("{path}.role"), codes::UNKNOWN_VALUE, message);
        };
        let Some(content) = item.get_some("content") else {
            return faults.push(format_args!("{path}.content"), codes::MISSING, "is required");
        };
        let Some(content) = read_content(content, &format!("{path}.content"), faults) else { return };
        if role == "assistant" {
            self.end_assistant();
            self.assistant = Some(Assistant { content: Some(content), calls: Vec::new() });
        } else {
            self.say(&role, content.as_json());
        }
    }

    fn read_call(&mut self, item: &RawObject<'_>, path: &str, faults: &mut Faults) {
        let mut text = |key| required_text(item, key, path, faults);
        let (Some(id), Some(name), Some(arguments)) = (text("call_id"), text("name"), text("arguments"))
        else {
            return;
        };
        let mut function = ObjectWriter::with_capacity(arguments.as_str().len() + 64);
        function.json("name", name);
        function.json("arguments", arguments);
        let mut call = ObjectWriter::with_capacity(arguments.as_str().len() + 128);
        call.json("id", id);
        call.string("type", "function");
        call.json("function", function.finish().as_json());
        self.assistant.get_or_insert_default().calls.push(call.finish());
    }

    fn read_output(&mut self, item: &RawObject<'_>, path: &str, faults: &mut Faults) {
        let id = required_text(item, "call_id", path, faults);
        let Some(output) = item.get_some("output") else {
            return faults.push(format_args!("{path}.output"), codes::MISSING, "is required");
        };
        let content = read_content(output, &format!("{path}.output"), faults);
        let (Some(id), Some(content)) = (id, content) else { return };
        self.end_assistant();
        let mut message = ObjectWriter::with_capacity(content.as_str().len() + 128);
        message.string("role", "tool");
        message.json("tool_call_id", id);
        message.json("content", content.as_json());
        self.done.push(message.finish());
    }

    fn end_assistant(&mut self) {
        let Some(Assistant { content, calls }) = self.assistant.take() else { return };
        let mut message = ObjectWriter::with_capacity(256);
        message.string("role", "assistant");
        match &content {
            Some(content) => message.json("content", content.as_json()),
            None => message.null("content"),
        }
        if !calls.is_empty() {
            message.array("tool_calls", calls.iter().map(JsonText::as_json));
        }
        self.done.push(message.finish());
    }
}

fn required_text<'a>(item: &RawObject<'a>, key: &str, path: &str, faults: &mut Faults) -> Option<Json<'a>> {
    let text = item.get(key).filter(|text| text.kind() == Kind::String);
    if text.is_none() {
        faults.push(format_args!("{path}.{key}"), codes::WRONG_TYPE, "must be a string");
    }
    text
}
