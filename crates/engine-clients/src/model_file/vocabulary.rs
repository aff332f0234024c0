//! The tokens of a model, each of which llama.cpp requires to be another one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::ModelFileUnusable;

/// Large vocabularies have some 300,000 tokens.
const TOKENS_MAX: u64 = 1 << 22;
/// The longest tokens of published models have some hundred bytes.
const TOKEN_BYTES_MAX: usize = 1 << 16;

const REPEATED: ModelFileUnusable =
    ModelFileUnusable::Damaged("its vocabulary has a token twice (tokenizer.ggml.tokens)");

/// The hashes of the tokens read so far.
#[derive(Default)]
pub(super) struct Tokens {
    hasher: RandomState,
    seen: HashSet<u64>,
}

impl Tokens {
    pub(super) fn check_count(count: u64) -> Result<(), ModelFileUnusable> {
        match count {
            ..=TOKENS_MAX => Ok(()),
            _ => Err(ModelFileUnusable::Damaged(
                "its vocabulary has more than 4,194,304 tokens (tokenizer.ggml.tokens)",
            )),
        }
    }

    /// The length of the next token.
    pub(super) fn check_length(length: u64) -> Result<usize, ModelFileUnusable> {
        usize::try_from(length).ok().filter(|length| *length <= TOKEN_BYTES_MAX).ok_or(
            ModelFileUnusable::Damaged(
                "its vocabulary has a token of more than 65,536 bytes (tokenizer.ggml.tokens)",
            ),
        )
    }

    /// As llama.cpp reads it: a token ends at a zero byte, and an empty one is named by its number.
    pub(super) fn add(&mut self, number: u64, token: &[u8]) -> Result<(), ModelFileUnusable> {
        let text = token.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = match text {
            [] => Cow::Owned(format!("[EMPTY_{number}]").into_bytes()),
            _ => Cow::Borrowed(text),
        };
        if self.seen.insert(self.hasher.hash_one(text)) { Ok(()) } else { Err(REPEATED) }
    }
}
