//! Forms as grammars of the library, and their limits.

use std::{fmt, str::FromStr};

use llguidance::{JsonCompileOptions, api::TopLevelGrammar};
use serde_json::{Value, json};

use super::Shape;

/// Bytes of a schema, written without white space.
const SCHEMA_BYTES_MAX: usize = 128 * 1024;
/// Bytes of any other form: the library's parsers recurse into each bracket.
const TEXT_BYTES_MAX: usize = 16 * 1024;
const CHOICES_MAX: usize = 1_024;
/// Digits of a `multipleOf`: the library builds a state for each remainder.
const MULTIPLE_DIGITS_MAX: usize = 4;

/// White space between two elements: one line break with an indentation, or two spaces. Unbounded, a model may write white space until its
/// answer is cut off.
const WHITE_SPACE: &str = r"(\r?\n[ \t]{0,64}|[ \t]{1,2})";
/// Not allowed in Lark grammars: schemas and options of the library, which could lift limits, and tokens by number.
const LARK_REFUSED: [&str; 5] = ["%json", "%llguidance", "%regex", "%lark", "<["];

impl Shape {
    /// Refuses what the library accepts but is too costly or unsupported here.
    pub(super) fn review(&self) -> Result<(), String> {
        let (bytes, most) = match self {
            Self::Schema(schema) => (schema.to_string().len(), SCHEMA_BYTES_MAX),
            Self::Regex(text) | Self::Lark(text) => (text.len(), TEXT_BYTES_MAX),
            Self::Choice(texts) => (texts.iter().map(String::len).sum(), TEXT_BYTES_MAX),
        };
        if bytes > most {
            let what = if matches!(self, Self::Schema(_)) { "A schema" } else { "A form that is no schema" };
            return Err(format!("{what} has at most {most} bytes."));
        }
        match self {
            Self::Schema(schema) => review_schema(schema),
            Self::Choice(texts) if texts.is_empty() || texts.len() > CHOICES_MAX => {
                Err(format!("A choice has 1 to {CHOICES_MAX} texts."))
            }
            Self::Choice(texts) if texts.iter().any(String::is_empty) => {
                Err("A choice has no empty text.".to_owned())
            }
            Self::Lark(text) if text.contains("::=") => Err(
                "Grammars are served in the language of Lark, with rules like start: \"a\" | \"b\"; this is EBNF or GBNF."
                    .to_owned(),
            ),
            Self::Lark(text) => match LARK_REFUSED.iter().find(|word| text.contains(**word)) {
                Some(word) => Err(format!("A grammar has no {word} here.")),
                None => Ok(()),
            },
            Self::Regex(_) | Self::Choice(_) => Ok(()),
        }
    }

    pub(super) fn grammar(&self) -> TopLevelGrammar {
        match self {
            Self::Schema(schema) => TopLevelGrammar::from_json_schema(limited(schema)),
            Self::Regex(text) => TopLevelGrammar::from_regex(text),
            Self::Choice(texts) => {
                // Strings in Lark grammars are written as in JSON.
                let texts: Vec<String> = texts.iter().map(|text| json!(text).to_string()).collect();
                TopLevelGrammar::from_lark(format!("start: {}", texts.join(" | ")))
            }
            Self::Lark(text) => TopLevelGrammar::from_lark(text.clone()),
        }
    }
}

/// A unique text for each shape.
impl fmt::Display for Shape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema(schema) => write!(formatter, "schema {schema}"),
            Self::Regex(text) => write!(formatter, "regex {text}"),
            Self::Choice(texts) => write!(formatter, "choice {}", json!(texts)),
            Self::Lark(text) => write!(formatter, "lark {text}"),
        }
    }
}

/// Reads the text that [`fmt::Display`] writes.
impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, text) = text.split_once(' ').unwrap_or_default();
        let fault = |fault: serde_json::Error| fault.to_string();
        match kind {
            "schema" => serde_json::from_str(text).map(Self::Schema).map_err(fault),
            "regex" => Ok(Self::Regex(text.to_owned())),
            "choice" => serde_json::from_str(text).map(Self::Choice).map_err(fault),
            "lark" => Ok(Self::Lark(text.to_owned())),
            _ => Err("the kind of the form is unknown".to_owned()),
        }
    }
}

/// The schema with our options instead of a client's, which could lift the limits.
fn limited(schema: &Value) -> Value {
    let mut schema = if *schema == Value::Bool(true) { json!({}) } else { schema.clone() };
    if schema.is_object() {
        let white_space = Some(WHITE_SPACE.to_owned());
        JsonCompileOptions { whitespace_pattern: white_space, ..JsonCompileOptions::default() }
            .apply_to(&mut schema);
    }
    schema
}

fn review_schema(schema: &Value) -> Result<(), String> {
    match schema {
        Value::Array(items) => items.iter().try_for_each(review_schema),
        Value::Object(fields) => fields.iter().try_for_each(|(name, value)| match value {
            Value::Number(number) if name == "multipleOf" => review_multiple(&number.to_string()),
            _ => review_schema(value),
        }),
        _ => Ok(()),
    }
}

fn review_multiple(number: &str) -> Result<(), String> {
    let digits = number.trim_start_matches(['0', '.']).bytes().filter(u8::is_ascii_digit).count();
    if digits <= MULTIPLE_DIGITS_MAX && !number.contains(['e', 'E']) {
        return Ok(());
    }
    Err(format!("A multipleOf has at most {MULTIPLE_DIGITS_MAX} digits; {number} has more."))
}
