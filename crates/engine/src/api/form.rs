//! The form of the answer: a JSON object, JSON under a schema, text under an expression or a grammar, or one of some texts. The dialects
//! have different names for it.

use serde_json::{Value, json};

use super::{
    Refusal,
    body::{Body, ResponseFormat, StructuredOutputs},
};
use crate::constraint::{Form, Shape};

const NAME_BYTES_MAX: usize = 64;

/// The form that a request asks for; its fields are removed from the body. Fails if the form is unsupported or there are two.
pub(super) fn read(body: &mut Body) -> Result<Option<Form>, Refusal> {
    let asked = [
        body.response_format.take().map_or(Ok(None), response_format)?,
        body.structured_outputs.take().map_or(Ok(None), structured_outputs)?,
        body.guided_json.take().map(|schema| written("guided_json", schema)).transpose()?,
        body.json_schema.take().map(|schema| written("json_schema", schema)).transpose()?,
        body.guided_regex.take().map(|text| Form { shape: Shape::Regex(text), field: "guided_regex" }),
        body.guided_choice.take().map(|texts| Form { shape: Shape::Choice(texts), field: "guided_choice" }),
        body.guided_grammar.take().map(|text| Form { shape: Shape::Lark(text), field: "guided_grammar" }),
        body.regex.take().map(|text| Form { shape: Shape::Regex(text), field: "regex" }),
    ];
    let mut asked = asked.into_iter().flatten();
    match (asked.next(), asked.next()) {
        (Some(one), Some(other)) => {
            let message = format!("{} and {} each ask for a form of the answer.", one.field, other.field);
            Err(Refusal::of(other.field, message))
        }
        (form, _) => Ok(form),
    }
}

fn response_format(format: ResponseFormat) -> Result<Option<Form>, Refusal> {
    match format.r#type.as_str() {
        "text" => Ok(None),
        "json_object" => {
            let schema = format.schema.unwrap_or_else(any_object);
            Ok(Some(Form::schema(schema, "response_format")))
        }
        "json_schema" => {
            let refuse = |message: &str| Refusal::of("response_format.json_schema", message);
            let named = format.json_schema;
            let named = named.ok_or_else(|| refuse("The type json_schema needs json_schema, an object."))?;
            let is_long = |name: &String| name.is_empty() || name.len() > NAME_BYTES_MAX;
            if named.name.as_ref().is_some_and(is_long) {
                return Err(refuse("The name of a schema has 1 to 64 bytes."));
            }
            let schema = named.schema.ok_or_else(|| refuse("json_schema needs schema, a JSON schema."))?;
            Ok(Some(Form::schema(schema, "response_format")))
        }
        other => {
            let message = format!("The response format {other:?} is not served here.");
            Err(Refusal::of("response_format", message))
        }
    }
}

fn structured_outputs(asked: StructuredOutputs) -> Result<Option<Form>, Refusal> {
    const FIELD: &str = "structured_outputs";
    for (name, value) in
        [("structural_tag", &asked.structural_tag), ("whitespace_pattern", &asked.whitespace_pattern)]
    {
        if value.is_some() {
            return Err(Refusal::of(format!("{FIELD}.{name}"), format!("{name} is not served here.")));
        }
    }
    let of = |shape| Form { shape, field: FIELD };
    let asked = [
        asked.json.map(|schema| written(FIELD, schema)).transpose()?,
        asked.json_object.unwrap_or(false).then(|| Form::schema(any_object(), FIELD)),
        asked.regex.map(|text| of(Shape::Regex(text))),
        asked.choice.map(|texts| of(Shape::Choice(texts))),
        asked.grammar.map(|text| of(Shape::Lark(text))),
    ];
    let mut asked = asked.into_iter().flatten();
    match (asked.next(), asked.next()) {
        (Some(_), Some(_)) => Err(Refusal::of(FIELD, format!("{FIELD} asks for more than one form."))),
        (form, _) => Ok(form),
    }
}

/// A schema, or a string that contains one as JSON.
fn written(field: &'static str, schema: Value) -> Result<Form, Refusal> {
    let Value::String(text) = &schema else { return Ok(Form::schema(schema, field)) };
    let schema = serde_json::from_str(text)
        .map_err(|fault| Refusal::of(field, format!("The schema is no valid JSON: {fault}.")))?;
    Ok(Form::schema(schema, field))
}

fn any_object() -> Value {
    json!({ "type": "object" })
}
