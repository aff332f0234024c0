use std::fmt::Write;

use serde_json::Value;

use super::html::{Prose, Text};

/// The prefix of references to named types.
pub(super) const REFERENCE: &str = "#/components/schemas/";

/// A text of the document, or an empty one.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The type of a schema, in a few words of HTML.
pub(super) fn kind(schema: &Value) -> String {
    if let Some(name) = text(schema, "$ref").strip_prefix(REFERENCE) {
        return format!("<a href=\"#schema-{0}\">{0}</a>", Text(name));
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        if let Some(choices) = schema[key].as_array() {
            return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    if let Some(names) = schema["enum"].as_array() {
        let names = names.iter().map(|name| format!("<code>{}</code>", Text(&name.to_string())));
        return names.collect::<Vec<_>>().join(", ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => vec!["anything"],
    };
    let word = |kind: &&str| match *kind {
        "array" => format!("array of {}", self::kind(&schema["items"])),
        other => Text(other).to_string(),
    };
    let words = kinds.iter().map(word).collect::<Vec<_>>().join(" or ");
    format!("{words}{}", bounds(schema))
}

fn bounds(schema: &Value) -> String {
    match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (low, Value::Null) => format!(", {low} or more"),
        (Value::Null, high) => format!(", {high} or less"),
        (low, high) => format!(", {low} to {high}"),
    }
}

pub(super) fn members(schema: &Value, out: &mut String) {
    let Some(properties) = schema["properties"].as_object() else { return };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    out.push_str("<table><thead><tr><th>Field<th>Type<th>What it is</thead><tbody>");
    for (name, property) in properties {
        let presence = if required.contains(&name.as_str()) { "" } else { " <small>optional</small>" };
        row(name, presence, property, text(property, "description"), out);
    }
    out.push_str("</tbody></table>");
}

/// One row of a table of fields.
pub(super) fn row(name: &str, presence: &str, schema: &Value, description: &str, out: &mut String) {
    // Writing to memory cannot fail.
    let _ = write!(
        out,
        "<tr><td><code>{}</code>{presence}<td>{}<td>{}</tr>",
        Text(name),
        kind(schema),
        Prose(description)
    );
}

/// An example, if the schema has one.
pub(super) fn example(schema: &Value, out: &mut String) {
    if !schema["example"].is_null() {
        let example = serde_json::to_string_pretty(&schema["example"]).unwrap_or_default();
        let _ = write!(out, "<pre><code>{}</code></pre>", Text(&example));
    }
}
