//! Constrained answers: which tokens may come next. The only module that knows the library of constrained decoding.
//!
//! A client asks for a [`Form`]. [`try_out`] compiles it in a process with limits; if that succeeds, [`Grammars`] compiles it into a
//! [`Grammar`], and each choice follows the grammar with its own [`Guide`].

mod grammar;
mod grammars;
mod limits;
mod shape;
#[cfg(test)]
mod tests;
mod trial;
mod watchdog;

pub use self::{
    grammar::{Grammar, Guide},
    grammars::Grammars,
    trial::{CHECK_FORM, Undecided, check_form, try_out},
};

#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    Schema(serde_json::Value),
    /// Text that this regular expression matches as a whole.
    Regex(String),
    Choice(Vec<String>),
    /// Text that a Lark grammar derives from its rule `start`.
    Lark(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    pub shape: Shape,
    pub field: &'static str,
}

impl Form {
    #[must_use]
    pub const fn schema(schema: serde_json::Value, field: &'static str) -> Self {
        Self { shape: Shape::Schema(schema), field }
    }

    /// Refuses a form that the library accepts but that is too costly or unsupported here.
    pub fn review(self) -> Result<Reviewed, Unkept> {
        match self.shape.review() {
            Ok(()) => Ok(Reviewed { text: self.shape.to_string(), form: self }),
            Err(reason) => Err(Unkept { field: self.field, reason, is_complex: false }),
        }
    }
}

/// A form within the limits that need no compilation.
#[derive(Clone, Debug)]
pub struct Reviewed {
    form: Form,
    /// The unique text of its shape.
    text: String,
}

/// Why a form cannot be enforced, as a sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unkept {
    pub field: &'static str,
    pub reason: String,
    /// Whether it exceeds a limit of time, memory or states.
    pub is_complex: bool,
}

impl Unkept {
    /// The refusal of a form that takes more time or memory than `limit` says.
    fn too_complex(field: &'static str, limit: &str) -> Self {
        Self { field, reason: format!("The form is too complex: {limit}."), is_complex: true }
    }
}
