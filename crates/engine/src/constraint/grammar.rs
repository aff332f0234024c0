//! A compiled form, and the place of one answer in it.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use llguidance::{Matcher, TokenParser};

use super::{Unkept, limits::LEXER_STATES_MAX};
use crate::{clock::Stopwatch, model::Token, sampling::TokenSet};

/// A compiled form. Its answers share the states of its lexer, which grow with what they say.
pub struct Grammar {
    field: &'static str,
    fresh: TokenParser,
    used: Mutex<TokenParser>,
    first_time: Duration,
}

impl Grammar {
    /// A grammar for which it took `first_time` to find the first tokens.
    pub(super) fn new(field: &'static str, parser: TokenParser, first_time: Duration) -> Self {
        Self { field, used: Mutex::new(parser.deep_clone()), fresh: parser, first_time }
    }

    /// A guide that stands before the first token.
    #[must_use]
    pub fn start(&self) -> Guide {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        // The rest has to do for this answer and for those under way.
        if used.parser.lexer_stats().num_states > LEXER_STATES_MAX / 2 {
            *used = self.fresh.deep_clone();
        }
        Guide { field: self.field, matcher: Matcher::new(Ok(used.clone())), time: self.first_time }
    }
}

impl fmt::Debug for Grammar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Grammar").field("field", &self.field).finish_non_exhaustive()
    }
}

/// Follows one answer through its grammar.
pub struct Guide {
    field: &'static str,
    matcher: Matcher,
    time: Duration,
}

impl Guide {
    /// The tokens that may come next, at least one. An end of turn is among them where the answer may end.
    ///
    /// # Errors
    /// [`Unkept`] where the form is too complex at this place.
    pub fn allowed(&mut self) -> Result<TokenSet, Unkept> {
        let stopwatch = Stopwatch::start();
        let mask = self.matcher.compute_mask_or_eos();
        self.time = stopwatch.elapsed();
        let mask = mask.map_err(|fault| unkept(self.field, &fault.to_string()))?;
        Ok(TokenSet::from_words(mask.as_slice().to_vec()))
    }

    /// How long it took to find the tokens that might come last, or first if none came yet.
    #[must_use]
    pub fn time(&self) -> Duration {
        self.time
    }

    /// Notes the token that came, one of the allowed; returns whether the answer is complete and nothing may follow.
    ///
    /// # Errors
    /// [`Unkept`] where the form is too complex at this place.
    pub fn take(&mut self, token: Token) -> Result<bool, Unkept> {
        self.matcher.consume_token(token).map_err(|fault| unkept(self.field, &fault.to_string()))?;
        Ok(self.matcher.is_stopped())
    }
}

impl fmt::Debug for Guide {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Guide").field("field", &self.field).finish_non_exhaustive()
    }
}

/// A refusal in the library's words, of which the first line says enough.
pub(super) fn unkept(field: &'static str, fault: &str) -> Unkept {
    let words = fault.lines().next().unwrap_or_default();
    Unkept { field, reason: format!("The form cannot be kept to here: {words}.") }
}
