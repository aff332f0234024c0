//! Answers of a given form: before each draw, the tokens after which the answer can still become JSON that fits the schema.
//!
//! llguidance computes them (a parser of Earley's kind over the bytes of a trie of all tokens). A schema is compiled once; its answers
//! share what the lexer has learnt.

mod compiler;
#[cfg(test)]
mod tests;

use std::fmt;

use llguidance::Matcher;
use llguidance::toktrie::SimpleVob;
use thiserror::Error;

pub use self::compiler::{Compiler, SCHEMA_BYTES_MAX};
use crate::model::Token;

/// The state of one answer: what it holds so far, and what may follow.
#[derive(Clone)]
pub struct Constraint(Box<Matcher>);

/// The tokens that may follow.
#[derive(Debug)]
pub struct Allowed(SimpleVob);

/// What may follow took too much work to find.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the form of the answer is too much work: {0}")]
pub struct ConstraintFailed(String);

impl Constraint {
    /// The tokens that may follow; the end of the turn is among them where the answer is whole.
    ///
    /// # Errors
    /// [`ConstraintFailed`]; then the answer cannot go on.
    pub fn allowed(&mut self) -> Result<Allowed, ConstraintFailed> {
        self.0.compute_mask_or_eos().map(Allowed).map_err(failed)
    }

    /// Takes a token that is allowed; returns whether the answer is whole and nothing may follow.
    ///
    /// # Errors
    /// [`ConstraintFailed`]; then the answer cannot go on.
    pub fn accept(&mut self, token: Token) -> Result<bool, ConstraintFailed> {
        self.0.consume_token(token).map_err(failed)?;
        Ok(self.0.is_stopped())
    }
}

fn failed(error: impl fmt::Display) -> ConstraintFailed {
    // What follows the first line is the state of a parser.
    ConstraintFailed(error.to_string().lines().next().unwrap_or_default().to_owned())
}

impl Allowed {
    /// Whether this token may follow.
    #[must_use]
    pub fn contains(&self, token: Token) -> bool {
        self.0.is_allowed(token)
    }
}

impl fmt::Debug for Constraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Constraint").finish_non_exhaustive()
    }
}
