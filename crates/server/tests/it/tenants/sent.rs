//! What is sent: a method, a path, headers and a body.

use url::form_urlencoded::Serializer;

/// What a call has for a body. `ID` stands for the identifier under attack, `WITHIN` for what that belongs to, `NEW` for a number that was not
/// sent before.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    /// No body.
    Nothing,
    /// JSON.
    Json(&'static str),
    /// JSON, one value on each line.
    Lines(&'static str),
    /// The fields of a form.
    Form(&'static [(&'static str, &'static str)]),
    /// The parts of a form that may carry files: what names each, and its content.
    Parts(&'static [(&'static str, &'static str)]),
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Sent {
    /// The type and the text of the body.
    pub(super) fn write(self) -> (&'static str, String) {
        match self {
            Self::Nothing => ("", String::new()),
            Self::Json(text) => ("application/json", text.to_owned()),
            Self::Lines(text) => ("application/x-ndjson", text.to_owned()),
            Self::Form(fields) => (
                "application/x-www-form-urlencoded",
                Serializer::new(String::new()).extend_pairs(fields).finish(),
            ),
            Self::Parts(parts) => {
                let part = |(name, content): &(&str, &str)| {
                    format!("--form\r\ncontent-disposition: form-data; {name}\r\n\r\n{content}\r\n")
                };
                let body = parts.iter().map(part).collect::<String>() + "--form--\r\n";
                ("multipart/form-data; boundary=form", body)
            }
        }
    }
}
