//! The JSON Schema of answers, and the columns of its members.

use std::fs;
use std::path::Path;

use overnight_domain::json::{Json, minimize};
use overnight_tables::{Column, ColumnType};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::errors::CliError;

/// The schema's name for engines that require one.
const NAME: &str = "answer";

/// A schema of objects.
#[derive(Debug, Clone)]
pub(crate) struct AnswerSchema {
    response_format: Box<RawValue>,
    columns: Vec<Column>,
}

impl AnswerSchema {
    /// Fails unless the file holds a schema of an object with properties.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        let text = fs::read(path).map_err(|error| CliError::file(path, &error))?;
        let refused = |words: &str| CliError::unusable(format!("{}: {words}", path.display()));
        let text = minimize(&text, 0).map_err(|error| refused(&format!("is no JSON: {error}")))?;
        let schema = text.as_json().to_object();
        let properties = schema.and_then(|schema| schema.get("properties")).and_then(Json::members);
        let columns: Vec<Column> = properties
            .into_iter()
            .flatten()
            .map(|property| Column::new(property.key().into_owned(), type_of(property.value)))
            .collect();
        if columns.is_empty() {
            return Err(refused(
                "is no schema of an object with `properties`, each of which becomes a column",
            ));
        }
        let schema: &RawValue =
            serde_json::from_str(text.as_str()).map_err(|error| refused(&error.to_string()))?;
        let format =
            json!({"type": "json_schema", "json_schema": {"name": NAME, "strict": true, "schema": null}});
        // The schema is sent unchanged: the order of its properties is that of an answer.
        let format = format.to_string().replacen("null", schema.get(), 1);
        let response_format = RawValue::from_string(format).map_err(|error| refused(&error.to_string()))?;
        Ok(Self { response_format, columns })
    }

    pub(crate) fn response_format(&self) -> &RawValue {
        &self.response_format
    }

    /// A column for each property, in order.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The members of an answer, in the order of the columns. Fails if it is not such an object.
    pub(crate) fn cells(&self, answer: &str) -> Result<Vec<Value>, String> {
        let answer: Value =
            serde_json::from_str(answer).map_err(|error| format!("the answer is no JSON: {error}"))?;
        let Value::Object(mut members) = answer else {
            return Err("the answer is no JSON object".to_owned());
        };
        Ok(self.columns.iter().map(|column| members.remove(&*column.name).unwrap_or(Value::Null)).collect())
    }
}

/// The type that a property's `type` names apart from null, or JSON if there are several.
fn type_of(property: Json<'_>) -> ColumnType {
    let named = property.to_object().and_then(|property| property.get("type"));
    let mut names: Vec<_> = match named {
        Some(named) if named.elements().is_some() => {
            named.elements().into_iter().flatten().filter_map(Json::decode_string).collect()
        }
        named => named.and_then(Json::decode_string).into_iter().collect(),
    };
    names.retain(|name| name != "null");
    match names.as_slice() {
        [name] => match name.as_ref() {
            "string" => ColumnType::Text,
            "integer" => ColumnType::Integer,
            "number" => ColumnType::Number,
            "boolean" => ColumnType::Boolean,
            _ => ColumnType::Json,
        },
        _ => ColumnType::Json,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<AnswerSchema, CliError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answer.json");
        fs::write(&path, text).unwrap();
        AnswerSchema::read(&path)
    }

    const SCHEMA: &str = r#"{"type": "object", "properties": {
        "topic": {"type": "string"}, "count": {"type": ["integer", "null"]}, "share": {"type": "number"},
        "is_urgent": {"type": "boolean"}, "tags": {"type": "array"}, "any": {}}}"#;

    #[test]
    fn properties_are_columns_in_their_order() {
        let schema = read(SCHEMA).unwrap();
        let columns: Vec<_> = schema.columns().iter().map(|column| (&*column.name, column.holds)).collect();
        assert_eq!(
            columns,
            [
                ("topic", Some(ColumnType::Text)),
                ("count", Some(ColumnType::Integer)),
                ("share", Some(ColumnType::Number)),
                ("is_urgent", Some(ColumnType::Boolean)),
                ("tags", Some(ColumnType::Json)),
                ("any", Some(ColumnType::Json)),
            ]
        );
        let format: Value = serde_json::from_str(schema.response_format().get()).unwrap();
        assert_eq!(format["json_schema"]["schema"], serde_json::from_str::<Value>(SCHEMA).unwrap());
    }

    #[test]
    fn members_of_an_answer_go_to_their_columns() {
        let schema = read(SCHEMA).unwrap();
        let cells = schema.cells(r#"{"count": 2, "topic": "x", "other": 1}"#).unwrap();
        assert_eq!(cells, [json!("x"), json!(2), json!(null), json!(null), json!(null), json!(null)]);
        assert!(schema.cells("[]").unwrap_err().contains("no JSON object"));
        assert!(schema.cells("{\"a\"").unwrap_err().contains("no JSON: "));
    }

    #[test]
    fn what_has_no_properties_is_refused() {
        for text in ["[]", "{}", "{\"properties\": {}}", "nonsense"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
