//! The input of a model without a conversation: one or several texts, as characters or as tokens.

use super::path::Path;
use super::review::Review;
use crate::faults::codes;
use crate::json::{Json, Kind, RawObject};

/// Tokens that an engine puts around a text, at most: its beginning and its end.
const TOKENS_HELD_PER_INPUT: usize = 4;

/// The totals of a body's inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Number of inputs, at least one.
    pub count: usize,
    /// Bytes of the text inputs.
    pub text_bytes: usize,
    /// Tokens of the token inputs.
    pub token_count: usize,
}

impl Inputs {
    /// Expected maximum of tokens, if so few bytes of text may be a token.
    pub(crate) fn token_bound(&self, bytes_per_token: u32) -> usize {
        self.text_bytes
            .div_ceil(bytes_per_token.max(1) as usize)
            .saturating_add(self.token_count)
            .saturating_add(self.count.saturating_mul(TOKENS_HELD_PER_INPUT))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Text,
    Texts,
    Tokens,
    ListsOfTokens,
}

impl Spelling {
    /// By the kind of the first element.
    fn of(value: Json<'_>) -> Option<Self> {
        match (value.kind(), value.elements().and_then(|mut elements| elements.next()).map(Json::kind)) {
            (Kind::String, _) => Some(Self::Text),
            (Kind::Array, Some(Kind::String)) => Some(Self::Texts),
            (Kind::Array, Some(Kind::Number)) => Some(Self::Tokens),
            (Kind::Array, Some(Kind::Array)) => Some(Self::ListsOfTokens),
            _ => None,
        }
    }
}

/// The inputs under a required key: a text, an array of up to `count_max` texts, an array of tokens, or an array of such arrays.
pub(crate) fn read_inputs(
    review: &mut Review<'_>,
    body: &RawObject<'_>,
    path: &Path<'_>,
    key: &str,
    count_max: usize,
) -> Inputs {
    let Some(value) = review.required(body, path, key) else { return Inputs::default() };
    let path = path.member(key);
    let mut inputs = Inputs::default();
    match Spelling::of(value) {
        Some(Spelling::Text) => {
            inputs = Inputs { count: 1, text_bytes: value.as_str().len(), token_count: 0 }
        }
        Some(Spelling::Tokens) => {
            inputs = Inputs { count: 1, text_bytes: 0, token_count: count_tokens(review, value, &path) };
        }
        Some(spelling) => {
            for (index, element) in value.elements().into_iter().flatten().enumerate() {
                let path = path.element(index);
                inputs.count += 1;
                match spelling {
                    Spelling::ListsOfTokens => inputs.token_count += count_tokens(review, element, &path),
                    _ if review.expect_string(element, &path) => inputs.text_bytes += element.as_str().len(),
                    _ => {}
                }
            }
        }
        None => {
            let message =
                "must be a string, an array of strings, an array of tokens, or an array of such arrays";
            review.fault(&path, codes::WRONG_TYPE, message);
        }
    }
    if inputs.count > count_max {
        review.fault(&path, codes::OUT_OF_RANGE, format_args!("must have at most {count_max} elements"));
    }
    inputs
}

pub(crate) fn count_inputs(value: Json<'_>) -> usize {
    match Spelling::of(value) {
        Some(Spelling::Texts | Spelling::ListsOfTokens) => value.elements().map_or(1, Iterator::count),
        _ => 1,
    }
}

/// The number of tokens in an array, each by its number in the vocabulary.
fn count_tokens(review: &mut Review<'_>, tokens: Json<'_>, path: &Path<'_>) -> usize {
    let mut count = 0;
    for token in tokens.elements().into_iter().flatten() {
        let is_token = token.as_integer_text().is_some_and(|text| text.parse::<u32>().is_ok());
        if !is_token {
            review.fault(&path.element(count), codes::WRONG_TYPE, "must be the number of a token");
        }
        count += 1;
    }
    if count == 0 {
        review.fault(path, codes::WRONG_TYPE, "must be an array of tokens with at least one");
    }
    count
}
