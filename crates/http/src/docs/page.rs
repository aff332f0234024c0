//! The page: the index, every operation, every type.

use std::fmt::Write;

use serde_json::Value;

use super::html::{Paragraphs, Prose, Text};
use super::samples::samples;
use super::schemas::{example, kind, members, row, text};
use super::search::Search;
use crate::errors::CODES;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The destination of a webhook.
const YOUR_URL: &str = "the webhook of the request or batch";

/// An operation with its path and method.
struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    value: &'a Value,
}

impl Operation<'_> {
    /// Whether a search finds it. Its answers do not count: most are common to all operations.
    fn is_found(&self, search: &Search) -> bool {
        let [id, summary, description] =
            ["operationId", "summary", "description"].map(|key| text(self.value, key));
        search.finds(&[self.path, id, summary, description, &self.value["parameters"].to_string()])
    }
}

/// Writes the page of an OpenAPI document: all of it, or the results of a search. Links are relative: a proxy may serve the page below a path.
pub(super) fn write(document: &Value, search: &Search) -> String {
    let info = &document["info"];
    let operations = operations(document);
    let mut out = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">",
    );
    let title = Text(text(info, "title"));
    let _ = write!(
        out,
        "<title>{title} API</title><link rel=\"stylesheet\" href=\"docs/style.css\"></head><body>"
    );
    contents(document, &operations, search, &mut out);
    let _ = write!(out, "<main><h1>{title} API <small>{}</small></h1>", Text(text(info, "version")));
    if search.is_for_all() {
        let _ = write!(out, "{}", Paragraphs(text(info, "description")));
        keys(document, &mut out);
    } else {
        let _ = write!(
            out,
            "<p>What has <b>{}</b> in it. <a href=\"docs\">Show everything</a></p>",
            Text(search.words())
        );
    }
    let before = out.len();
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = text(tag, "name");
        let of_tag = operations.iter().filter(|operation| operation.value["tags"][0] == name);
        let mut found = of_tag.filter(|it| it.is_found(search)).peekable();
        if found.peek().is_some() {
            let _ = write!(out, "<h2>{}</h2>{}", Text(name), Paragraphs(text(tag, "description")));
        }
        found.for_each(|operation| section(document, operation, &mut out));
    }
    errors(search, &mut out);
    shapes(document, search, &mut out);
    if out.len() == before {
        out.push_str("<p>Nothing has all of these words.</p>");
    }
    out.push_str("</main></body></html>");
    if search.is_for_all() {
        return out;
    }
    // Link targets may be only on the full page.
    out.replace("href=\"#", "href=\"docs#")
}

fn shapes(document: &Value, search: &Search, out: &mut String) {
    let shapes = document["components"]["schemas"].as_object().into_iter().flatten();
    let mut found = shapes.filter(|(name, schema)| search.finds(&[name, &schema.to_string()])).peekable();
    if found.peek().is_some() {
        out.push_str("<h2>Shapes</h2>");
    }
    for (name, schema) in found {
        let _ = write!(
            out,
            "<section id=\"schema-{0}\"><h3>{0}</h3>{1}",
            Text(name),
            Paragraphs(text(schema, "description"))
        );
        if schema["properties"].is_null() {
            let _ = write!(out, "<p>{}</p>", kind(schema));
        }
        members(schema, out);
        example(schema, out);
        out.push_str("</section>");
    }
}

/// The errors by code.
fn errors(search: &Search, out: &mut String) {
    let mut found = CODES.iter().filter(|it| search.finds(&[it.code, it.kind, it.meaning])).peekable();
    if found.peek().is_none() {
        return;
    }
    out.push_str(
        "<h2 id=\"errors\">Errors</h2><p>A program tells refusals by <code>code</code>. More may be added.</p>\
         <table><thead><tr><th>Status<th>Code<th>What it means</thead><tbody>",
    );
    for it in found {
        let _ = write!(
            out,
            "<tr><td><code>{}</code><td><code>{}</code> <small>{}</small><td>{}</tr>",
            it.status.as_str(),
            Text(it.code),
            Text(it.kind),
            Prose(it.meaning)
        );
    }
    out.push_str("</tbody></table>");
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

fn contents(document: &Value, operations: &[Operation<'_>], search: &Search, out: &mut String) {
    let _ = write!(
        out,
        "<nav><strong>Overnight</strong><form action=\"docs\"><input type=\"search\" name=\"q\" aria-label=\"Search\" \
         placeholder=\"Search\" maxlength=\"{}\" value=\"{}\"></form><a href=\"openapi.json\">openapi.json</a>\
         <a href=\"docs#errors\">Errors by code</a>",
        Search::MAX,
        Text(search.words())
    );
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

fn section(document: &Value, Operation { method, path, value }: &Operation<'_>, out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"{}\"><h3>{}</h3><p class=\"call\"><b class=\"{method}\">{}</b> <code>{}</code></p>{}",
        Text(text(value, "operationId")),
        Text(text(value, "summary")),
        method.to_uppercase(),
        Text(path),
        Paragraphs(text(value, "description"))
    );
    if path.starts_with('/') {
        samples(document, method, path, value, out);
    }
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
