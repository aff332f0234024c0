//! Answers in a given form: which tokens may come next. The only module that knows the library of constrained decoding.
//!
//! A [`Form`] is what a client asks for. [`Grammars`] compiles it once into a [`Grammar`], and each choice follows
//! the grammar with a [`Guide`] of its own.

mod grammar;
mod grammars;
mod limits;
mod shape;
#[cfg(test)]
mod tests;

pub use self::{
    grammar::{Grammar, Guide},
    grammars::Grammars,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// JSON that is valid under this schema.
    Schema(serde_json::Value),
    /// Text that this regular expression matches from its beginning to its end.
    Regex(String),
    Choice(Vec<String>),
    /// Text that a grammar in the language of Lark derives from its rule `start`.
    Lark(String),
}

/// The form that an answer has to have.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    pub shape: Shape,
    /// The field of the request that asks for it.
    pub field: &'static str,
}

impl Form {
    /// JSON that is valid under a schema, as a field of the request asks for it.
    #[must_use]
    pub const fn schema(schema: serde_json::Value, field: &'static str) -> Self {
        Self { shape: Shape::Schema(schema), field }
    }
}

/// Why a form cannot be kept to, as a sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unkept {
    /// The field of the request that asks for the form.
    pub field: &'static str,
    pub reason: String,
}
