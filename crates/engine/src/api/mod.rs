//! OpenAI's JSON shapes: requests and answers.

mod body;
mod calls;
mod drawing;
pub mod embeddings;
mod form;
mod messages;
mod request;
mod response;
#[cfg(test)]
mod tests;
mod tools;
mod unsupported;

use crate::constraint::Unkept;

pub use self::{
    calls::Calls,
    request::{ChatRequest, parse},
    response::{ChatCompletion, Heading, render},
};

/// Why a request is refused, always by a fault of the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub message: String,
    pub code: Option<&'static str>,
    /// The field at fault.
    pub param: Option<String>,
}

impl Refusal {
    #[must_use]
    pub fn of(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { message: message.into(), code: None, param: Some(param.into()) }
    }

    /// The refusal of a prompt that exceeds the context.
    #[must_use]
    pub fn too_long(context: usize, prompt: &str) -> Self {
        let message = format!(
            "The context holds {context} tokens, the answer's among them, and the prompt has {prompt}."
        );
        Self { code: Some("context_length_exceeded"), ..Self::of("messages", message) }
    }
}

impl From<Unkept> for Refusal {
    fn from(unkept: Unkept) -> Self {
        let code = unkept.is_complex.then_some("form_too_complex");
        Self { code, ..Self::of(unkept.field, unkept.reason) }
    }
}

/// The value, if it is between `least` and `most`.
fn within<N: Copy + PartialOrd + std::fmt::Display>(
    param: &str,
    value: N,
    least: N,
    most: N,
) -> Result<N, Refusal> {
    if value >= least && value <= most {
        return Ok(value);
    }
    Err(Refusal::of(param, format!("{param} is {value}; it has to be from {least} to {most}.")))
}
