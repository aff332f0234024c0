//! The page: what there is, every operation, every shape.

use std::fmt::Write;

use serde_json::Value;

use super::html::{Paragraphs, Prose, Text};
use super::schemas::{example, kind, members, row, text};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Where a webhook goes.
const YOUR_URL: &str = "the webhook of the request or batch";

/// An operation and where it is.
struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    value: &'a Value,
}

/// Writes the page of an OpenAPI document.
pub(super) fn write(document: &Value) -> String {
    let info = &document["info"];
    let operations = operations(document);
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    );
    let title = Text(text(info, "title"));
    let _ = write!(
        out,
        "<title>{title} API</title><link rel=\"stylesheet\" href=\"/docs/style.css\"></head><body>"
    );
    contents(document, &operations, &mut out);
    let _ = write!(
        out,
        "<main><h1>{title} API <small>{}</small></h1>{}",
        Text(text(info, "version")),
        Paragraphs(text(info, "description"))
    );
    keys(document, &mut out);
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text(tag, "name");
        let _ = write!(out, "<h2>{}</h2>{}", Text(name), Paragraphs(text(tag, "description")));
        for operation in operations.iter().filter(|operation| operation.value["tags"][0] == name) {
            section(operation, &mut out);
        }
    }
    out.push_str("<h2>Shapes</h2>");
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let _ = write!(
            out,
            "<section id=\"schema-{0}\"><h3>{0}</h3>{1}",
            Text(name),
            Paragraphs(text(schema, "description"))
        );
        if schema["properties"].is_null() {
            let _ = write!(out, "<p>{}</p>", kind(schema));
        }
        members(schema, &mut out);
        example(schema, &mut out);
        out.push_str("</section>");
    }
    out.push_str("</main></body></html>");
    out
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut operations = Vec::new();
    let called =
        document["paths"].as_object().into_iter().flatten().map(|(path, item)| (path.as_str(), item));
    let calling = document["webhooks"].as_object().into_iter().flatten().map(|(_, item)| (YOUR_URL, item));
    for (path, item) in called.chain(calling) {
        for method in METHODS.iter().filter(|method| !item[**method].is_null()) {
            operations.push(Operation { method, path, value: &item[*method] });
        }
    }
    operations
}

fn contents(document: &Value, operations: &[Operation<'_>], out: &mut String) {
    out.push_str("<nav><strong>Overnight</strong><a href=\"/openapi.json\">openapi.json</a>");
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text(tag, "name");
        let _ = write!(out, "<b>{}</b>", Text(name));
        for operation in operations.iter().filter(|operation| operation.value["tags"][0] == name) {
            let (id, summary) = (text(operation.value, "operationId"), text(operation.value, "summary"));
            let _ = write!(out, "<a href=\"#{}\">{}</a>", Text(id), Text(summary));
        }
    }
    out.push_str("</nav>");
}

fn keys(document: &Value, out: &mut String) {
    out.push_str("<h2>Keys</h2><p>Every call carries an API key, in one of these ways:</p><ul>");
    for scheme in document["components"]["securitySchemes"].as_object().into_iter().flatten() {
        let header = match text(scheme.1, "type") {
            "http" => "Authorization: Bearer <key>".to_owned(),
            _ => format!("{}: <key>", text(scheme.1, "name")),
        };
        let _ = write!(out, "<li><code>{}</code> {}", Text(&header), Prose(text(scheme.1, "description")));
    }
    out.push_str("</ul>");
}

fn section(Operation { method, path, value }: &Operation<'_>, out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"{}\"><h3>{}</h3><p class=\"call\"><b class=\"{method}\">{}</b> <code>{}</code></p>{}",
        Text(text(value, "operationId")),
        Text(text(value, "summary")),
        method.to_uppercase(),
        Text(path),
        Paragraphs(text(value, "description"))
    );
    parameters(value, out);
    if let Some(content) = value["requestBody"]["content"].as_object() {
        out.push_str("<h4>Body</h4>");
        content.iter().for_each(|(media_type, media)| shape(media_type, media, out));
    }
    out.push_str("<h4>Answers</h4><table><tbody>");
    for (status, answer) in value["responses"].as_object().into_iter().flatten() {
        let _ = write!(
            out,
            "<tr><td><code>{}</code><td>{}<td>",
            Text(status),
            Prose(text(answer, "description"))
        );
        for (media_type, media) in answer["content"].as_object().into_iter().flatten() {
            shape(media_type, media, out);
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></section>");
}

fn parameters(operation: &Value, out: &mut String) {
    let Some(parameters) = operation["parameters"].as_array() else { return };
    out.push_str("<h4>Parameters</h4><table><tbody>");
    for parameter in parameters {
        let presence = if parameter["required"] == true { "" } else { " <small>optional</small>" };
        let description = text(parameter, "description");
        row(text(parameter, "name"), presence, &parameter["schema"], description, out);
    }
    out.push_str("</tbody></table>");
}

fn shape(media_type: &str, media: &Value, out: &mut String) {
    let _ = write!(out, "{} <small>{}</small>", kind(&media["schema"]), Text(media_type));
}
