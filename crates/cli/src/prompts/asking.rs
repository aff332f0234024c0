//! Makes a request of each row of a table: templates, and members that all requests share.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use overnight_base::paths::expanded;
use overnight_tables::{Kind, Row, Template};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::PART_LINES;
use crate::errors::CliError;
use crate::fixed_values::kinds;
use crate::paths::path;
use crate::schema::AnswerSchema;

/// The prefix of a file name in place of a text.
const FROM_FILE: char = '@';

const COLUMNS_HINT: &str =
    "a column is written {{ review }}, or {{ row[\"First name\"] }} where its name is no word";

/// How a table is asked about.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArguments {
    /// Ask about each row of FILE: what the user says, with {{ column }}, or {{ row["First name"] }}, for what stands
    /// there; @FILE reads it from a file.
    #[arg(long, value_name = "TEMPLATE")]
    pub(crate) prompt: Option<String>,
    /// What the system says before, a template too.
    #[arg(long, value_name = "TEMPLATE", requires = "prompt")]
    system: Option<String>,
    /// More members of each request body, such as {"max_tokens": 200}; @FILE reads them from a file.
    #[arg(long, value_name = "JSON", requires = "prompt")]
    body: Option<String>,
    /// Ask for answers by this JSON Schema, and give each of its properties a column.
    #[arg(long, value_name = "FILE", requires = "prompt", value_parser = path())]
    schema: Option<PathBuf>,
    /// Put this before the names of the columns that answers go to.
    #[arg(long, value_name = "PREFIX", default_value = "", hide_default_value = true)]
    pub(crate) prefix: String,
    /// How many lines or rows make a batch, at most; memory holds that many.
    #[arg(long, value_name = "COUNT", default_value_t = PART_LINES, value_parser = part_lines)]
    pub(crate) batch_lines: usize,
    /// What FILE, or standard input, holds [default: by its name, else jsonl].
    #[arg(long, value_name = "FORMAT", value_parser = kinds())]
    pub(crate) input_format: Option<Kind>,
}

#[derive(Debug)]
pub(crate) struct Asking {
    prompt: Template,
    system: Option<Template>,
    body: Map<String, Value>,
    schema: Option<AnswerSchema>,
}

#[derive(Serialize)]
struct Create<'a> {
    request_body: RequestBody<'a>,
    metadata: Metadata,
}

#[derive(Serialize)]
struct RequestBody<'a> {
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'a RawValue>,
    #[serde(flatten)]
    rest: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

/// Identifies a row.
#[derive(Serialize)]
struct Metadata {
    row: usize,
}

impl Asking {
    /// `None` if the command line has no template. Fails for an unusable template, body or schema, or without a model.
    pub(crate) fn of(arguments: &TableArguments, model: Option<&str>) -> Result<Option<Self>, CliError> {
        let Some(prompt) = &arguments.prompt else { return Ok(None) };
        let prompt = template("--prompt", prompt)?;
        let system = arguments.system.as_deref().map(|text| template("--system", text)).transpose()?;
        if ![Some(&prompt), system.as_ref()].into_iter().flatten().any(Template::depends_on_row) {
            let message = "--prompt names no column, so every row would be asked the same";
            return Err(CliError::unusable(message).with_hint(COLUMNS_HINT));
        }
        let mut body = arguments.body.as_deref().map_or_else(|| Ok(Map::new()), members)?;
        let schema = arguments.schema.as_deref().map(AnswerSchema::read).transpose()?;
        if let Some(model) = model {
            if let Some(other) = body.get("model").filter(|other| *other != model) {
                let message = format!("--model says {model:?}, and `model` in --body says {other}");
                return Err(CliError::unusable(message).with_hint("name the model in one of them"));
            }
            body.insert("model".to_owned(), model.into());
        }
        if !body.get("model").is_some_and(Value::is_string) {
            return Err(CliError::unusable("--prompt needs --model: rows name no model"));
        }
        let of_templates = schema.is_some().then_some("response_format");
        if let Some(name) = ["messages"].into_iter().chain(of_templates).find(|name| body.contains_key(*name))
        {
            return Err(CliError::unusable(format!(
                "--body cannot have `{name}`, which is made of the others"
            )));
        }
        Ok(Some(Self { prompt, system, body, schema }))
    }

    pub(crate) const fn schema(&self) -> Option<&AnswerSchema> {
        self.schema.as_ref()
    }

    /// The columns that the templates name and the table lacks.
    pub(super) fn missing(&self, has: impl Fn(&str) -> bool) -> Vec<&str> {
        let templates = [Some(&self.prompt), self.system.as_ref()].into_iter().flatten();
        let wanted = templates.flat_map(Template::wanted).map(String::as_str);
        wanted.filter(|name| !has(name)).collect()
    }

    /// The body of Create Request for a row; `number` counts rows from 1. An error is the end of a sentence that begins with "line 7".
    pub(super) fn create_body(&self, row: &Row, number: usize) -> Result<Vec<u8>, String> {
        let system = self.system.as_ref().map(|system| system.render(row)).transpose()?;
        let prompt = self.prompt.render(row)?;
        let system = system.as_deref().map(|content| Message { role: "system", content });
        let user = Message { role: "user", content: &prompt };
        let response_format = self.schema.as_ref().map(AnswerSchema::response_format);
        let messages = system.into_iter().chain([user]).collect();
        let request_body = RequestBody { messages, response_format, rest: &self.body };
        let create = Create { request_body, metadata: Metadata { row: number } };
        serde_json::to_vec(&create).map_err(|error| error.to_string())
    }
}

fn part_lines(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=PART_LINES).contains(count));
    count.ok_or_else(|| format!("a batch has 1 to {PART_LINES} lines"))
}

fn template(flag: &str, text: &str) -> Result<Template, CliError> {
    let template = Template::new(text_of(text)?);
    template.map_err(|error| CliError::unusable(format!("{flag}: {error}")).with_hint(COLUMNS_HINT))
}

fn members(text: &str) -> Result<Map<String, Value>, CliError> {
    match serde_json::from_str(&text_of(text)?) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(CliError::unusable(format!(
            "--body must be an object such as {}",
            json!({"max_tokens": 200})
        ))),
        Err(error) => Err(CliError::unusable(format!("--body is no JSON: {error}"))),
    }
}

/// The text, or the contents of the file that it names.
fn text_of(text: &str) -> Result<String, CliError> {
    let Some(path) = text.strip_prefix(FROM_FILE) else { return Ok(text.to_owned()) };
    let path = expanded(path).map_err(|wanted| CliError::unusable(format!("{text} must name {wanted}")))?;
    fs::read_to_string(&path).map_err(|error| CliError::file(&path, &error))
}
