//! Answers in a given form: which tokens may come next. The only module that knows the library of constrained decoding.
//!
//! A [`Form`] is what a client asks for. [`Grammars`] compiles it once into a [`Grammar`], and each choice follows
//! the grammar with a [`Guide`] of its own.

mod grammar;
mod grammars;
mod limits;
#[cfg(test)]
mod tests;

pub use self::{
    grammar::{Grammar, Guide},
    grammars::Grammars,
};

/// The form that an answer has to have: JSON that is valid under this schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// A JSON schema.
    pub schema: serde_json::Value,
    /// The field of the request that asks for it.
    pub field: &'static str,
}

/// Why a form cannot be kept to, as a sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unkept {
    /// The field of the request that asks for the form.
    pub field: &'static str,
    /// The sentence.
    pub reason: String,
}
