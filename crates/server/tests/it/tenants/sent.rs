//! Calls: method, path, headers and body.

use url::form_urlencoded::Serializer;

/// The body of a call. `ID` is the attacked identifier, `WITHIN` the thing that it belongs to, `NEW` a number that was never sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    Nothing,
    Json(&'static str),
    /// JSON, one value on each line.
    Lines(&'static str),
    Form(&'static [(&'static str, &'static str)]),
    /// The names and contents of a multipart form's parts.
    Parts(&'static [(&'static str, &'static str)]),
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Sent {
    /// The content type and text of the body.
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
