//! Warnings about answers that were accepted.

/// An oddity of an answer that its client must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The path of its subject, one of eleven, such as `request_body.logprobs` or `result_body.usage`.
    pub param: &'static str,
    /// A message of at most 500 bytes.
    pub message: String,
}

impl Warning {
    /// The param of a usage that is missing, or counts no tokens although the answer has some.
    pub const USAGE: &str = "result_body.usage";

    /// The field of the request that the engine did not honour; `None` if the warning is about the answer.
    pub fn ignored_field(&self) -> Option<&'static str> {
        self.param.strip_prefix("request_body.")
    }

    /// The odd part of the answer, by the name of its last member; `None` if the warning is about a field of the request.
    pub fn odd_part(&self) -> Option<&'static str> {
        let part = self.param.strip_prefix("result_body")?;
        Some(part.rsplit('.').next().filter(|part| !part.is_empty()).unwrap_or("json"))
    }
}

pub(crate) fn warn(warnings: &mut Vec<Warning>, param: &'static str, message: impl Into<String>) {
    if !warnings.iter().any(|warning| warning.param == param) {
        warnings.push(Warning { param, message: message.into() });
    }
}
