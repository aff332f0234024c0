//! The form that an answer is to have: a JSON schema, under the names that engines know it by.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Refusal;

/// A schema that the answer fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// The JSON schema.
    pub schema: Value,
    /// The field that asked for it.
    pub param: &'static str,
}

/// OpenAI's.
#[derive(Deserialize)]
pub(super) struct ResponseFormat {
    r#type: String,
    json_schema: Option<NamedSchema>,
    /// As llama-server takes it beside `json_object`.
    schema: Option<Value>,
}

#[derive(Deserialize)]
struct NamedSchema {
    schema: Option<Value>,
}

/// vLLM's.
#[derive(Deserialize)]
pub(super) struct StructuredOutputs {
    json: Option<Value>,
    json_object: Option<bool>,
    regex: Option<Value>,
    choice: Option<Value>,
    grammar: Option<Value>,
    structural_tag: Option<Value>,
}

/// The one form that is asked for.
///
/// # Errors
/// A form that is not served, or several.
pub(super) fn choose(
    response_format: Option<ResponseFormat>,
    structured_outputs: Option<StructuredOutputs>,
    guided_json: Option<Value>,
    json_schema: Option<Value>,
) -> Result<Option<Form>, Refusal> {
    let given = [
        ("response_format", response_format.map(of_response_format).transpose()?.flatten()),
        ("structured_outputs", structured_outputs.map(of_structured_outputs).transpose()?.flatten()),
        (
            "guided_json",
            guided_json.filter(|it| !it.is_null()).map(|it| read("guided_json", it)).transpose()?,
        ),
        (
            "json_schema",
            json_schema.filter(|it| !it.is_null()).map(|it| read("json_schema", it)).transpose()?,
        ),
    ];
    let mut given = given.into_iter().filter_map(|(param, schema)| Some(Form { schema: schema?, param }));
    match (given.next(), given.next()) {
        (Some(form), Some(other)) => {
            let message =
                format!("{} and {} each give a form of the answer; one can be.", form.param, other.param);
            Err(Refusal::of(other.param, message))
        }
        (form, _) => Ok(form),
    }
}

fn of_response_format(format: ResponseFormat) -> Result<Option<Value>, Refusal> {
    const PARAM: &str = "response_format";
    match format.r#type.as_str() {
        "text" => Ok(None),
        "json_object" => Ok(Some(format.schema.unwrap_or_else(any_object))),
        "json_schema" => {
            let schema = format.json_schema.and_then(|named| named.schema).or(format.schema);
            let missing = || Refusal::of(PARAM, "response_format.json_schema.schema is missing.");
            schema.ok_or_else(missing).map(Some)
        }
        other => {
            let message = format!(
                "The response format {other:?} is not served here; text, json_object and json_schema are."
            );
            Err(Refusal::of(PARAM, message))
        }
    }
}

fn of_structured_outputs(asked: StructuredOutputs) -> Result<Option<Value>, Refusal> {
    const PARAM: &str = "structured_outputs";
    let others = [asked.regex, asked.choice, asked.grammar, asked.structural_tag];
    if others.iter().flatten().any(|it| !it.is_null()) {
        return Err(Refusal::of(PARAM, "Of structured_outputs, json and json_object are served here."));
    }
    match asked.json.filter(|it| !it.is_null()) {
        Some(schema) => read(PARAM, schema).map(Some),
        None => Ok(asked.json_object.filter(|it| *it).map(|_| any_object())),
    }
}

/// A schema, which some clients send as its text.
fn read(param: &str, schema: Value) -> Result<Value, Refusal> {
    match schema {
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|fault| Refusal::of(param, format!("The schema is no JSON: {fault}."))),
        schema => Ok(schema),
    }
}

fn any_object() -> Value {
    json!({"type": "object"})
}
