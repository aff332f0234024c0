//! From a JSON schema to a constraint.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory};
use serde_json::{Value, json};

use super::Constraint;
use crate::model::Vocabulary;

/// The longest schema, in bytes of its text.
pub const SCHEMA_BYTES_MAX: usize = 256 << 10;
/// Compiled schemas that are kept, the ones used last.
const KEPT_MAX: usize = 16;
/// States of a schema's lexer, a kilobyte or two each.
const LEXER_STATES_MAX: usize = 20_000;
/// What finding the tokens of one step may take, a few milliseconds: all sequences wait for it.
const STEP_LEXER_FUEL: u64 = 50_000;
const STEP_ITEMS_MAX: usize = 20_000;
/// Between the parts of a JSON text: a line and an indent, and not more, so that an answer cannot be all white space.
const WHITE_SPACE: &str = r"\n?[ \t]{0,16}";
/// What a schema may say to the library; nothing of a client's is passed on.
const OPTIONS: &str = "x-guidance";

/// Compiles schemas for one vocabulary. Calls may take milliseconds.
pub struct Compiler {
    factory: ParserFactory,
    /// By the text of the schema, the one used last at the end.
    kept: Mutex<VecDeque<(String, Matcher)>>,
}

impl Compiler {
    /// A compiler for this vocabulary, which takes a tenth of a second for a large one.
    ///
    /// # Errors
    /// Where the vocabulary has no end of the turn, or is none for the library.
    pub fn new(vocabulary: &dyn Vocabulary) -> Result<Self, String> {
        let ends = vocabulary.end_tokens();
        let end = *ends.first().ok_or("the model has no token that ends an answer")?;
        let count = u32::try_from(vocabulary.token_count()).map_err(|error| error.to_string())?;
        let words: Vec<Vec<u8>> = (0..count)
            .map(
                |token| {
                    if vocabulary.ends_turn(token) { Vec::new() } else { vocabulary.piece(token).to_vec() }
                },
            )
            .collect();
        let trie = TokTrie::from(&TokRxInfo::new(count, end), &words).with_eos_tokens(ends);
        let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new_simple(&environment).map_err(|error| error.to_string())?;
        factory.quiet();
        *factory.limits_mut() = ParserLimits {
            max_lexer_states: LEXER_STATES_MAX,
            step_lexer_fuel: STEP_LEXER_FUEL,
            step_max_items: STEP_ITEMS_MAX,
            verbose_errors: false,
            ..ParserLimits::default()
        };
        Ok(Self { factory, kept: Mutex::default() })
    }

    /// The constraint of answers that fit `schema`.
    ///
    /// # Errors
    /// Why the schema cannot be served, in words for whoever sent it.
    pub fn compile(&self, schema: &Value) -> Result<Constraint, String> {
        let text = schema.to_string();
        if text.len() > SCHEMA_BYTES_MAX {
            return Err(format!("it is longer than {SCHEMA_BYTES_MAX} bytes"));
        }
        if let Some(matcher) = self.find(&text) {
            return Ok(Constraint(Box::new(matcher)));
        }
        let mut schema = match schema {
            Value::Object(_) => schema.clone(),
            Value::Bool(_) => json!({"allOf": [schema]}),
            _ => return Err("it is no JSON schema".to_owned()),
        };
        schema[OPTIONS] = json!({"whitespace_flexible": true, "whitespace_pattern": WHITE_SPACE});
        // A fault of the library costs this request and no other.
        let compiled = catch_unwind(AssertUnwindSafe(|| {
            Matcher::new(self.factory.create_parser(TopLevelGrammar::from_json_schema(schema)))
        }));
        let matcher = compiled.map_err(|_| "it cannot be compiled".to_owned())?;
        if let Some(error) = matcher.get_error() {
            return Err(error);
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back((text, matcher.clone()));
        Ok(Constraint(Box::new(matcher)))
    }

    fn find(&self, text: &str) -> Option<Matcher> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().position(|(known, _)| known == text)?;
        let found = kept.remove(place)?;
        let matcher = found.1.clone();
        kept.push_back(found);
        Some(matcher)
    }
}

#[cfg(test)]
impl Compiler {
    /// The texts of the schemas that are kept, the one used last at the end.
    pub(super) fn kept(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(|(text, _)| text.clone()).collect()
    }
}

impl fmt::Debug for Compiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Compiler").finish_non_exhaustive()
    }
}
