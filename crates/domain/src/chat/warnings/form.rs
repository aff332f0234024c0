//! `response_format`: whether the text of a choice can be in the requested form. It does not validate schemas: it checks only the type and
//! the required properties of the outermost value.

use std::borrow::Cow;
use std::collections::HashSet;

use super::choice::{Choice, find};
use crate::faults::codes;
use crate::json::{Json, Kind, minimize};

const REQUIRED_MAX: usize = 256;

const NO_JSON: &str = "the text of a choice is no JSON";
const OTHER_TYPE: &str = "the text of a choice has not the type of the schema";
const LACKS_PROPERTY: &str = "the text of a choice lacks a property that the schema requires";

/// JSON, and what is read of its schema.
#[derive(Default)]
pub(super) struct Form<'a> {
    /// The types that the schema allows, a bit each; 0 if it allows any.
    kinds: u8,
    required: HashSet<Cow<'a, str>>,
}

impl<'a> Form<'a> {
    /// Reads `response_format`; `None` if it does not ask for JSON.
    pub(super) fn read(format: Json<'a>) -> Option<Self> {
        match find(format, "type")?.decode_string()?.as_ref() {
            "json_object" => Some(Self::default()),
            "json_schema" => {
                let schema = find(format, "json_schema").and_then(|it| find(it, "schema"));
                Some(schema.map_or_else(Self::default, Self::of_schema))
            }
            _ => None,
        }
    }

    fn of_schema(schema: Json<'a>) -> Self {
        // Some versions of JSON Schema ignore the siblings of a reference.
        if find(schema, "$ref").is_some() {
            return Self::default();
        }
        let kinds = find(schema, "type").and_then(read_kinds).unwrap_or_default();
        let names = find(schema, "required").and_then(Json::elements).into_iter().flatten();
        Self { kinds, required: names.take(REQUIRED_MAX).filter_map(Json::decode_string).collect() }
    }

    /// What shows that a choice is not in this form, if anything does.
    pub(super) fn find_fault(&self, choice: &Choice<'_>) -> Option<&'static str> {
        if !choice.is_whole() || choice.has_call() {
            return None;
        }
        let text = choice.content?.decode_string()?;
        let value = match minimize(text.as_bytes(), 0) {
            Ok(value) => value,
            Err(error) if error.code == codes::INVALID_JSON => return Some(NO_JSON),
            // JSON that this service does not accept, such as deep nesting.
            Err(_) => return None,
        };
        let value = value.as_json();
        if self.kinds != 0 && self.kinds & bit(value.kind()) == 0 {
            return Some(OTHER_TYPE);
        }
        let members = value.members().filter(|_| !self.required.is_empty())?;
        let mut missing: HashSet<&str> = self.required.iter().map(|name| &**name).collect();
        for member in members {
            missing.remove(&*member.key());
        }
        (!missing.is_empty()).then_some(LACKS_PROPERTY)
    }
}

/// The bits of a schema's `type`: a name or several. `None` if one is unknown.
fn read_kinds(value: Json<'_>) -> Option<u8> {
    match value.elements() {
        Some(mut names) => names.try_fold(0, |bits, name| Some(bits | bit(read_kind(name)?))),
        None => read_kind(value).map(bit),
    }
}

const fn bit(kind: Kind) -> u8 {
    1 << (kind as u8)
}

fn read_kind(name: Json<'_>) -> Option<Kind> {
    Some(match name.decode_string()?.as_ref() {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "integer" | "number" => Kind::Number,
        "string" => Kind::String,
        "array" => Kind::Array,
        "object" => Kind::Object,
        _ => return None,
    })
}
