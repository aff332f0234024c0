//! Code samples of an operation for a shell, Python and JavaScript.

use std::fmt::Write;

use serde_json::Value;

use super::html::Text;
use super::schemas::{REFERENCE, text};

const JSON: &str = "application/json";

/// The properties of a call that samples need.
struct Call<'a> {
    method: String,
    /// The literal parts, each with the name of the parameter after it.
    path: Vec<(&'a str, Option<&'a str>)>,
    body: Option<&'a Value>,
    /// Whether it answers with JSON Lines.
    lists: bool,
}

/// Writes the samples of an operation, each collapsed.
pub(super) fn samples(document: &Value, method: &str, path: &str, operation: &Value, out: &mut String) {
    let lists = operation["responses"]["200"]["content"]["application/x-ndjson"].is_object();
    let body = &operation["requestBody"]["content"][JSON]["schema"];
    let call = Call {
        method: method.to_uppercase(),
        path: parts(path),
        body: text(body, "$ref")
            .strip_prefix(REFERENCE)
            .map(|name| &document["components"]["schemas"][name]["example"]),
        lists: lists && method == "get",
    };
    out.push_str("<div class=\"samples\">");
    for (language, sample) in
        [("curl", call.curl()), ("Python", call.python()), ("JavaScript", call.javascript())]
    {
        // Writing to memory cannot fail.
        let _ = write!(
            out,
            "<details><summary>{language}</summary><pre><code>{}</code></pre></details>",
            Text(&sample)
        );
    }
    out.push_str("</div>");
}

fn parts(path: &str) -> Vec<(&str, Option<&str>)> {
    let parts = path.split('}').filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('{').map_or((part, None), |(text, name)| (text, Some(name)))).collect()
}

impl Call<'_> {
    /// The path with each parameter as `write` formats it.
    fn path(&self, write: impl Fn(&str) -> String) -> String {
        let part =
            |(text, name): &(&str, Option<&str>)| (*text).to_owned() + &name.map(&write).unwrap_or_default();
        self.path.iter().map(part).collect()
    }

    fn curl(&self) -> String {
        let path = self.path(|name| format!("${}", name.to_uppercase()));
        let method = match (self.method.as_str(), self.body) {
            ("GET", _) | ("POST", Some(_)) => String::new(),
            (method, _) => format!(" -X {method}"),
        };
        let body = self
            .body
            .map(|body| format!(" --json '{}'", pretty(body).replace('\'', "'\\''")))
            .unwrap_or_default();
        format!("curl -sS{method} \"$URL{path}\" -H \"X-API-Key: $KEY\"{body}")
    }

    fn python(&self) -> String {
        let environment = |name: &str| format!("{{os.environ['{}']}}", name.to_uppercase());
        let (method, path) = (self.method.to_lowercase(), self.path(environment));
        let mut sample = format!(
            "import os\nimport httpx\n\nanswer = httpx.{method}(\n    f\"{}{path}\",\n    headers={{\"X-API-Key\": os.environ[\"KEY\"]}},\n",
            environment("url")
        );
        if let Some(body) = self.body {
            let _ = writeln!(sample, "    json={},", indented(&python_literal(body)));
        }
        sample.push_str(")\nanswer.raise_for_status()\n");
        sample.push_str(if self.lists {
            "for line in answer.iter_lines():\n    print(line)"
        } else {
            "print(answer.json())"
        });
        sample
    }

    fn javascript(&self) -> String {
        let environment = |name: &str| format!("${{process.env.{}}}", name.to_uppercase());
        let path = self.path(environment);
        let mut sample = format!("const answer = await fetch(`{}{path}`, {{\n", environment("url"));
        if self.method != "GET" {
            let _ = writeln!(sample, "  method: \"{}\",", self.method);
        }
        let content = if self.body.is_some() { ", \"Content-Type\": \"application/json\"" } else { "" };
        let _ = writeln!(sample, "  headers: {{ \"X-API-Key\": process.env.KEY{content} }},");
        if let Some(body) = self.body {
            let body = pretty(body).replace('\n', "\n  ");
            let _ = writeln!(sample, "  body: JSON.stringify({body}),");
        }
        sample.push_str("});\nif (!answer.ok) throw new Error(await answer.text());\n");
        sample.push_str(if self.lists {
            "console.log(await answer.text());"
        } else {
            "console.log(JSON.stringify(await answer.json(), null, 2));"
        });
        sample
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// A Python literal. Strings are those of JSON.
fn python_literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Array(items) => {
            let items = items.iter().map(|item| format!("\n    {},", indented(&python_literal(item))));
            format!("[{}\n]", items.collect::<String>())
        }
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("\n    {}: {},", Value::from(name.as_str()), indented(&python_literal(value)))
            };
            format!("{{{}\n}}", members.iter().map(member).collect::<String>())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_is_parted_at_its_parameters() {
        assert_eq!(parts("/v1/requests"), [("/v1/requests", None)]);
        assert_eq!(parts("/v1/requests/{id}/cancel"), [("/v1/requests/", Some("id")), ("/cancel", None)]);
    }

    #[test]
    fn a_value_is_written_as_python_has_it() {
        let value = json!({"a": [null, true, {}], "b": "it's \"so\""});
        assert_eq!(
            python_literal(&value),
            "{\n    \"a\": [\n        None,\n        True,\n        {},\n    ],\n    \"b\": \"it's \\\"so\\\"\",\n}"
        );
    }
}
