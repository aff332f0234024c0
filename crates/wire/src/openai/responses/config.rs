//! Members that steer the model's answer, from responses to chat completions and back.

use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

/// Members of a schema or function in both APIs.
const SCHEMA_MEMBERS: [&str; 4] = ["name", "description", "schema", "strict"];
const FUNCTION_MEMBERS: [&str; 4] = ["name", "description", "parameters", "strict"];

pub(super) fn type_of<'a>(object: &RawObject<'a>) -> Option<std::borrow::Cow<'a, str>> {
    object.get("type").and_then(Json::decode_string)
}

/// Writes `text` as `response_format` and `verbosity`.
pub(super) fn write_text(text: Json<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    let Some(text) = text.to_object() else {
        return faults.push("text", codes::WRONG_TYPE, "must be an object");
    };
    if let Some(verbosity) = text.get_some("verbosity") {
        chat.json("verbosity", verbosity);
    }
    let Some(format) = text.get_some("format") else { return };
    let Some(object) = format.to_object() else {
        return faults.push("text.format", codes::WRONG_TYPE, "must be an object");
    };
    match type_of(&object).as_deref() {
        Some("text") => {}
        Some("json_object") => chat.json("response_format", format),
        Some("json_schema") => {
            let mut response_format = ObjectWriter::with_capacity(format.as_str().len() + 64);
            response_format.string("type", "json_schema");
            response_format.json("json_schema", chosen(&object, &SCHEMA_MEMBERS).as_json());
            chat.json("response_format", response_format.finish().as_json());
        }
        _ => faults.push(
            "text.format.type",
            codes::UNKNOWN_VALUE,
            "must be one of text, json_object, json_schema",
        ),
    }
}

/// Writes `reasoning` as `reasoning_effort`.
pub(super) fn write_reasoning(reasoning: Json<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    let Some(reasoning) = reasoning.to_object() else {
        return faults.push("reasoning", codes::WRONG_TYPE, "must be an object");
    };
    for (key, value) in reasoning.members().iter().filter(|(_, value)| !value.is_null()) {
        match key.as_ref() {
            "effort" => chat.json("reasoning_effort", *value),
            // Responses contain the complete thoughts of a model, without a summary.
            "summary" | "generate_summary" if value.as_str() == "\"auto\"" => {}
            _ => {
                let path = format_args!("reasoning.{}", Quoted(key));
                faults.push(path, codes::NOT_ALLOWED, "is not supported: only effort is");
            }
        }
    }
}

/// Writes the `tools`, all of which must be functions.
pub(super) fn write_tools(tools: Json<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    let Some(tools) = tools.elements() else {
        return faults.push("tools", codes::WRONG_TYPE, "must be an array");
    };
    let mut functions = Vec::new();
    for (index, tool) in tools.enumerate() {
        let object = tool.to_object();
        match object.as_ref().map(|object| (object, type_of(object))) {
            Some((object, Some(kind))) if kind == "function" => {
                let function = chosen(object, &FUNCTION_MEMBERS);
                functions.push(of_type("function", "function", function.as_json()));
            }
            Some((_, Some(kind))) => {
                let path = format_args!("tools[{index}].type");
                let message =
                    format_args!("must be \"function\": there are no tools of type {}", Quoted(&kind));
                faults.push(path, codes::NOT_ALLOWED, message);
            }
            _ => faults.push(format_args!("tools[{index}]"), codes::WRONG_TYPE, "must be a tool with a type"),
        }
    }
    if !functions.is_empty() {
        chat.array("tools", functions.iter().map(JsonText::as_json));
    }
}

/// Writes `tool_choice`, which names a function in another form.
pub(super) fn write_tool_choice(choice: Json<'_>, chat: &mut ObjectWriter, faults: &mut Faults) {
    let object = choice.to_object();
    match object.as_ref().map(|object| (object, type_of(object))) {
        None if choice.kind() == Kind::String => chat.json("tool_choice", choice),
        Some((object, Some(kind))) if kind == "function" => {
            let function = chosen(object, &["name"]);
            let named = of_type("function", "function", function.as_json());
            chat.json("tool_choice", named.as_json());
        }
        _ => faults.push(
            "tool_choice",
            codes::NOT_ALLOWED,
            "must be \"none\", \"auto\", \"required\" or a function",
        ),
    }
}

pub(super) fn text_of(chat: &RawObject<'_>) -> JsonText {
    let format = chat.get_some("response_format").and_then(Json::to_object);
    let format =
        match format.as_ref().and_then(|format| format.get_some("json_schema")).and_then(Json::to_object) {
            Some(schema) => with_type("json_schema", &schema, &SCHEMA_MEMBERS),
            None => {
                let kind = format.as_ref().and_then(type_of);
                let mut plain = ObjectWriter::with_capacity(32);
                plain.string("type", kind.as_deref().unwrap_or("text"));
                plain.finish()
            }
        };
    let mut text = ObjectWriter::with_capacity(format.as_str().len() + 64);
    text.json("format", format.as_json());
    if let Some(verbosity) = chat.get_some("verbosity") {
        text.json("verbosity", verbosity);
    }
    text.finish()
}

pub(super) fn tools_of(chat: &RawObject<'_>) -> Vec<JsonText> {
    let tools = chat.get_some("tools").and_then(Json::elements);
    let functions =
        tools.into_iter().flatten().filter_map(|tool| tool.to_object()?.get("function")?.to_object());
    functions
        .map(|function| {
            let mut tool = with_type_open("function", &function, &FUNCTION_MEMBERS);
            // Clients expect both members in a response, even if the request lacked them.
            if function.get("parameters").is_none() {
                tool.null("parameters");
            }
            if function.get("strict").is_none() {
                tool.null("strict");
            }
            tool.finish()
        })
        .collect()
}

pub(super) fn tool_choice_of(chat: &RawObject<'_>) -> Option<JsonText> {
    let choice = chat.get_some("tool_choice")?;
    let function = choice.to_object().and_then(|choice| choice.get("function")?.to_object());
    Some(function.map_or_else(|| choice.to_text(), |function| with_type("function", &function, &["name"])))
}

/// The present members among `keys`, in this order.
fn chosen(object: &RawObject<'_>, keys: &[&str]) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(256);
    copy_chosen(object, keys, &mut writer);
    writer.finish()
}

fn copy_chosen(object: &RawObject<'_>, keys: &[&str], writer: &mut ObjectWriter) {
    for key in keys {
        if let Some(value) = object.get_some(key) {
            writer.json(key, value);
        }
    }
}

fn with_type(kind: &str, object: &RawObject<'_>, keys: &[&str]) -> JsonText {
    with_type_open(kind, object, keys).finish()
}

fn with_type_open(kind: &str, object: &RawObject<'_>, keys: &[&str]) -> ObjectWriter {
    let mut writer = ObjectWriter::with_capacity(256);
    writer.string("type", kind);
    copy_chosen(object, keys, &mut writer);
    writer
}

/// `{"type": kind, key: value}`.
pub(super) fn of_type(kind: &str, key: &str, value: Json<'_>) -> JsonText {
    let mut writer = ObjectWriter::with_capacity(value.as_str().len() + 64);
    writer.string("type", kind);
    writer.json(key, value);
    writer.finish()
}
