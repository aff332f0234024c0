//! Tools and `tool_choice`.

use minijinja::Value;
use serde_json::json;

use super::{Refusal, calls::Calls};
use crate::constraint::Form;

const TOOLS_MAX: usize = 128;

/// The effect of tools on the prompt and on the answer.
#[derive(Debug)]
pub(super) struct Tooling {
    /// The tools that the chat template sees; undefined if none.
    pub(super) shown: Value,
    pub(super) calls: Calls,
    /// The form of an answer that must be a call.
    pub(super) form: Option<Form>,
}

struct Function {
    name: String,
    parameters: serde_json::Value,
}

enum Choice {
    Auto,
    Required,
    Named(String),
}

/// Fails if the choice is not one of the tools.
pub(super) fn read(tools: Option<Value>, choice: Option<Value>) -> Result<Tooling, Refusal> {
    let tools = tools.filter(Value::is_true);
    let Some(choice) = read_choice(choice, tools.is_some())? else {
        return Ok(Tooling { shown: Value::UNDEFINED, calls: Calls::None, form: None });
    };
    let Some(tools) = tools else {
        return Err(Refusal::of("tool_choice", "A call of a tool needs tools."));
    };
    let (calls, form) = match choice {
        Choice::Auto => (Calls::Tagged, None),
        Choice::Required => (Calls::Whole, Some(any_call(functions(&tools)?))),
        Choice::Named(name) => {
            let named = functions(&tools)?.into_iter().find(|function| function.name == name);
            let named = named
                .ok_or_else(|| Refusal::of("tool_choice", format!("The function {name:?} is no tool.")))?;
            (Calls::Arguments(name), Some(Form::schema(named.parameters, "tools")))
        }
    };
    Ok(Tooling { shown: tools, calls, form })
}

/// `None` if calls are not allowed.
fn read_choice(choice: Option<Value>, has_tools: bool) -> Result<Option<Choice>, Refusal> {
    let refuse = || {
        let message = "tool_choice is \"none\", \"auto\", \"required\", or an object that names a function.";
        Refusal::of("tool_choice", message)
    };
    let Some(choice) = choice.filter(|choice| !choice.is_none()) else {
        return Ok(has_tools.then_some(Choice::Auto));
    };
    match choice.as_str() {
        Some("none") => return Ok(None),
        Some("auto") => return Ok(has_tools.then_some(Choice::Auto)),
        Some("required") => return Ok(Some(Choice::Required)),
        Some(_) => return Err(refuse()),
        None => {}
    }
    let name = choice.get_attr("function").and_then(|function| function.get_attr("name"));
    let name = name.ok().and_then(|name| name.as_str().map(str::to_owned));
    name.map(|name| Some(Choice::Named(name))).ok_or_else(refuse)
}

fn functions(tools: &Value) -> Result<Vec<Function>, Refusal> {
    let tools: Vec<Value> = tools.try_iter().map_err(|_| refuse_tool("tools"))?.collect();
    if tools.len() > TOOLS_MAX {
        return Err(Refusal::of("tools", format!("There can be at most {TOOLS_MAX} tools.")));
    }
    let read = |(index, tool): (usize, &Value)| {
        let refuse = || refuse_tool(&format!("tools[{index}]"));
        let function = tool.get_attr("function").unwrap_or_default();
        let field = |name: &str| function.get_attr(name).unwrap_or_default();
        let name = field("name").as_str().filter(|name| !name.is_empty()).ok_or_else(refuse)?.to_owned();
        let parameters = match field("parameters") {
            parameters if parameters.is_undefined() || parameters.is_none() => json!({ "type": "object" }),
            parameters => serde_json::to_value(parameters).map_err(|_| refuse())?,
        };
        Ok(Function { name, parameters })
    };
    tools.iter().enumerate().map(read).collect()
}

fn refuse_tool(param: &str) -> Refusal {
    Refusal::of(param, "A tool is {\"type\": \"function\", \"function\": {\"name\", \"parameters\"}}.")
}

/// A call of any of the functions: an object with its name and its arguments.
fn any_call(functions: Vec<Function>) -> Form {
    let call = |(index, function): (usize, Function)| {
        let mut parameters = function.parameters;
        root_references(&mut parameters, &format!("#/anyOf/{index}/properties/arguments"));
        json!({
            "type": "object",
            "properties": { "name": { "const": function.name }, "arguments": parameters },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        })
    };
    let calls: Vec<serde_json::Value> = functions.into_iter().enumerate().map(call).collect();
    Form::schema(json!({ "anyOf": calls }), "tools")
}

/// Rewrites references within a schema to the schema's new place.
fn root_references(schema: &mut serde_json::Value, root: &str) {
    match schema {
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| root_references(item, root)),
        serde_json::Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                match value {
                    serde_json::Value::String(target) if name == "$ref" && target.starts_with('#') => {
                        target.replace_range(..1, root);
                    }
                    _ if ["const", "enum", "default", "examples"].contains(&name.as_str()) => {}
                    _ => root_references(value, root),
                }
            }
        }
        _ => {}
    }
}
