//! Lines of prompt files: three shapes, recognised by their keys, and the Create Request for each.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The shape of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The body of Create Request: `{"request_body": …}`.
    CreateRequest,
    /// A line of OpenAI's batch files: `{"custom_id", "method", "url", "body"}`.
    OpenAiBatch,
    /// The chat alone: `{"model", "messages"}`.
    Chat,
}

/// The keys that distinguish shapes.
#[derive(Deserialize)]
struct Keys<'a> {
    #[serde(borrow, default)]
    request_body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    custom_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    url: Option<&'a RawValue>,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Create<'a> {
    request_body: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Metadata<'a>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    custom_id: &'a RawValue,
}

impl Shape {
    /// Recognises a line, which has no line break. The error continues "line 7".
    pub fn of(line: &[u8]) -> Result<Self, String> {
        let keys = read(line)?;
        if keys.request_body.is_some() {
            return object("request_body", keys.request_body).map(|_| Self::CreateRequest);
        }
        if keys.body.is_some() || keys.custom_id.is_some() {
            return check_open_ai(&keys).map(|()| Self::OpenAiBatch);
        }
        if keys.messages.is_some() {
            return Ok(Self::Chat);
        }
        Err("has no `request_body`, no `custom_id` and `body`, and no `model` and `messages`".to_owned())
    }

    /// The body of Create Request for a line of this shape. The error continues "line 7".
    pub fn create_body(self, line: &[u8]) -> Result<Vec<u8>, String> {
        let create = match self {
            Self::CreateRequest => return Ok(line.to_vec()),
            Self::OpenAiBatch => {
                let keys = read(line)?;
                let custom_id = keys.custom_id.ok_or("`custom_id` is missing")?;
                Create { request_body: object("body", keys.body)?, metadata: Some(Metadata { custom_id }) }
            }
            Self::Chat => Create { request_body: parse(line)?, metadata: None },
        };
        serde_json::to_vec(&create).map_err(|error| error.to_string())
    }
}

fn read(line: &[u8]) -> Result<Keys<'_>, String> {
    if line.is_empty() {
        return Err("is empty".to_owned());
    }
    if line[0] != b'{' {
        return Err("is not a JSON object".to_owned());
    }
    parse(line)
}

fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(line).map_err(|error| {
        // Serde's line number is always 1, not the number in the file.
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or(&text);
        format!("is not valid: {what} (column {})", error.column())
    })
}

fn check_open_ai(keys: &Keys<'_>) -> Result<(), String> {
    if keys.custom_id.is_none_or(|id| !id.get().starts_with('"')) {
        return Err("must have a `custom_id` that is a string, beside its `body`".to_owned());
    }
    for (name, value, wanted) in [("method", keys.method, "POST"), ("url", keys.url, "/v1/chat/completions")]
    {
        let is_wanted =
            |value: &RawValue| serde_json::from_str::<String>(value.get()).is_ok_and(|text| text == wanted);
        if !value.is_none_or(is_wanted) {
            return Err(format!("must have {wanted:?} as its `{name}`"));
        }
    }
    object("body", keys.body).map(|_| ())
}

fn object<'a>(name: &str, value: Option<&'a RawValue>) -> Result<&'a RawValue, String> {
    value
        .filter(|value| value.get().starts_with('{'))
        .ok_or_else(|| format!("must have a `{name}` that is an object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_by_its_keys() {
        for (line, expected) in [
            (r#"{"request_body":{"model":"m"},"metadata":null}"#, Shape::CreateRequest),
            (
                r#"{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{}}"#,
                Shape::OpenAiBatch,
            ),
            (r#"{"custom_id":"a","body":{}}"#, Shape::OpenAiBatch),
            (r#"{"model":"m","messages":[]}"#, Shape::Chat),
        ] {
            assert_eq!(Shape::of(line.as_bytes()), Ok(expected), "{line}");
        }
    }

    #[test]
    fn a_line_of_no_shape_says_why() {
        for (line, expected) in [
            ("", "is empty"),
            ("[]", "is not a JSON object"),
            ("{}", "has no `request_body`"),
            (r#"{"model":"m"}"#, "has no `request_body`"),
            (r#"{"request_body":1}"#, "`request_body` that is an object"),
            (r#"{"custom_id":7,"body":{}}"#, "`custom_id` that is a string"),
            (r#"{"custom_id":"a"}"#, "`body` that is an object"),
            (
                r#"{"custom_id":"a","url":"/v1/embeddings","body":{}}"#,
                "\"/v1/chat/completions\" as its `url`",
            ),
            (r#"{"custom_id":"a","method":"GET","body":{}}"#, "\"POST\" as its `method`"),
            (r#"{"messages":[]"#, "is not valid: EOF while parsing an object (column 14)"),
            (r#"{"body":{},"body":{}}"#, "duplicate field"),
        ] {
            let error = Shape::of(line.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    #[test]
    fn every_shape_becomes_the_body_of_create_request() {
        for (line, expected) in [
            (r#"{"request_body":{"model":"m"}}"#, r#"{"request_body":{"model":"m"}}"#),
            (
                r#"{"custom_id":"a","body":{"seed":1e3}}"#,
                r#"{"request_body":{"seed":1e3},"metadata":{"custom_id":"a"}}"#,
            ),
            (r#"{"messages":[],"x":1.0}"#, r#"{"request_body":{"messages":[],"x":1.0}}"#),
        ] {
            let body = Shape::of(line.as_bytes()).and_then(|shape| shape.create_body(line.as_bytes()));
            assert_eq!(String::from_utf8(body.unwrap()).unwrap(), expected);
        }
    }
}
