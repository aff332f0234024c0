//! Tools and the choice among them. Only tools that the client runs are supported.

use overnight_domain::faults::{Quoted, codes};
use overnight_domain::json::{Json, JsonText, Kind, ObjectWriter, RawObject};

use super::path::Path;
use super::review::Review;

const TOOL: [&str; 10] = [
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "input_examples",
    "allowed_callers",
    "defer_loading",
    "eager_input_streaming",
];

pub(super) fn write_tools(review: &mut Review, params: &RawObject<'_>, chat: &mut ObjectWriter) {
    let path = Path::Root.member("tools");
    let mut tools = Vec::new();
    if let Some(value) = params.get_some("tools") {
        for (place, tool) in review.elements(value, &path, "tools").into_iter().enumerate() {
            tools.extend(read_tool(review, tool, &path.element(place)));
        }
    }
    if !tools.is_empty() {
        chat.array("tools", tools.iter().map(JsonText::as_json));
    }
    if let Some(choice) = params.get_some("tool_choice") {
        let path = Path::Root.member("tool_choice");
        if params.get_some("tools").is_none() {
            review.fault(&path, codes::CONFLICT, "may only stand beside tools");
        }
        write_choice(review, choice, &path, chat);
    }
}

fn read_tool(review: &mut Review, tool: Json<'_>, path: &Path<'_>) -> Option<JsonText> {
    let kind = super::review::kind_of(tool);
    if !matches!(&*kind, "" | "custom") {
        let message = format_args!(
            "must be custom, not '{}': only tools that the client runs itself are taken here",
            Quoted(&kind)
        );
        review.refuse(&path.member("type"), message);
        return None;
    }
    let tool = review.object(tool, path, &TOOL)?;
    refuse_other_callers(review, &tool, path);
    let name = review.string(&tool, path, "name")?;
    let schema = review.required(&tool, path, "input_schema")?;
    if schema.kind() != Kind::Object {
        review.fault(&path.member("input_schema"), codes::WRONG_TYPE, "must be an object");
    }
    let mut function = ObjectWriter::with_capacity(schema.as_str().len() + 256);
    function.string("name", &name);
    if let Some(description) = description(review, &tool, path) {
        function.string("description", &description);
    }
    function.json("parameters", schema);
    if tool.get_some("strict").is_some() {
        function.boolean("strict", review.flag(&tool, path, "strict"));
    }
    let mut written = ObjectWriter::with_capacity(schema.as_str().len() + 320);
    written.string("type", "function");
    written.json("function", function.finish().as_json());
    Some(written.finish())
}

/// The description of a tool, followed by its examples, for which a function has no member.
fn description(review: &mut Review, tool: &RawObject<'_>, path: &Path<'_>) -> Option<String> {
    let description = review.optional_string(tool, path, "description");
    let Some(examples) = tool.get_some("input_examples") else { return description.map(Into::into) };
    let examples = review.elements(examples, &path.member("input_examples"), "objects");
    let mut text = description.map(String::from).unwrap_or_default();
    for example in examples {
        let gap = if text.is_empty() { "" } else { "\n" };
        text.push_str(gap);
        text.push_str("Example of an input: ");
        text.push_str(example.as_str());
    }
    Some(text)
}

fn refuse_other_callers(review: &mut Review, tool: &RawObject<'_>, path: &Path<'_>) {
    if review.flag(tool, path, "defer_loading") {
        review.refuse(&path.member("defer_loading"), "must be false: nothing searches tools here");
    }
    let callers = tool.get_some("allowed_callers").and_then(Json::elements);
    if callers.is_some_and(|mut callers| callers.any(|caller| caller.as_str() != "\"direct\"")) {
        review.refuse(&path.member("allowed_callers"), "must be [\"direct\"]: nothing else calls tools here");
    }
}

fn write_choice(review: &mut Review, choice: Json<'_>, path: &Path<'_>, chat: &mut ObjectWriter) {
    let Some(choice) = review.object(choice, path, &["type", "name", "disable_parallel_tool_use"]) else {
        return;
    };
    let Some(kind) = review.string(&choice, path, "type") else { return };
    match &*kind {
        "auto" | "none" => chat.string("tool_choice", &kind),
        "any" => chat.string("tool_choice", "required"),
        "tool" => {
            let Some(name) = review.string(&choice, path, "name") else { return };
            let mut function = ObjectWriter::with_capacity(name.len() + 16);
            function.string("name", &name);
            let mut written = ObjectWriter::with_capacity(name.len() + 64);
            written.string("type", "function");
            written.json("function", function.finish().as_json());
            chat.json("tool_choice", written.finish().as_json());
        }
        other => return review.unknown_value(path, "type", "one of auto, any, tool, none", other),
    }
    if review.flag(&choice, path, "disable_parallel_tool_use") {
        chat.boolean("parallel_tool_calls", false);
    }
}
