//! The engine's interface to a language model: a vocabulary, which any thread may use, and a decoder or an embedder, which lives on one
//! thread. Everything else in this crate knows a model only through these traits.

/// The number of a token in a model's vocabulary.
pub type Token = u32;

/// One token of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry {
    pub token: Token,
    /// Counted from 0; positions of a sequence are fed without gaps.
    pub position: usize,
    /// Below [`Capacity::sequences`].
    pub sequence: usize,
    /// Whether [`Decoder::logits`] may be called for this entry after the step.
    pub wants_logits: bool,
}

/// The capacity of a loaded model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Tokens that one request may hold, prompt and answer together; at most `cells`.
    pub context: usize,
    /// Cells of the key-value cache, one per token, shared by all sequences.
    pub cells: usize,
    /// Sequences that are decoded in one step.
    pub parallel: usize,
    /// Sequences that the cache distinguishes: running ones and those kept for their prefixes.
    pub sequences: usize,
    /// Cells that ended sequences may hold for their prefixes; every step looks at them, so they have a cost.
    pub kept_cells: usize,
    /// Cells of other sequences that a token passes over while a step reads the weights.
    pub masked_cells: usize,
    /// How many tokens share a pass over the weights without a remainder that costs another pass; at least 1.
    pub tile_tokens: usize,
    /// Whether a part of a sequence can be copied to another one; recurrent models cannot.
    pub shares_prefixes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbedderCapacity {
    /// Tokens of one input.
    pub context: usize,
    /// Inputs that are computed together.
    pub parallel: usize,
    /// Tokens up to which inputs are computed together; one input may have more. At most [`STEP_TOKENS_MAX`].
    pub step_tokens: usize,
    pub width: usize,
}

/// Turns text into tokens and back.
pub trait Vocabulary: Send + Sync {
    /// The tokens of a prompt in pieces. Special tokens are recognised within a piece; the model's opening token is added if it wants one.
    fn tokenize(&self, pieces: &mut dyn Iterator<Item = &str>) -> Vec<Token>;
    /// The tokens of a text to embed: special tokens are recognised, and those that the model wants are added.
    fn tokenize_input(&self, text: &str) -> Vec<Token>;
    /// The token's bytes; empty for a control token.
    fn piece(&self, token: Token) -> &[u8];
    /// Whether `token` ends the assistant's turn.
    fn ends_turn(&self, token: Token) -> bool;
    /// The tokens that end the assistant's turn.
    fn end_tokens(&self) -> &[Token];
    /// Every [`Token`] is below it.
    fn token_count(&self) -> usize;
    /// In bytes.
    fn longest_piece(&self) -> usize;
}

/// A failed step. The contents of the batch's sequences are unknown until they are cleared.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the model could not compute a step: {0}")]
pub struct DecodeFailed(pub String);

/// Computes steps over many sequences that share one cache.
///
/// The caller stays within [`Capacity`]; an implementation over C++ may end the process otherwise.
pub trait Decoder {
    /// Computes one batch of at most [`STEP_TOKENS_MAX`] entries.
    fn decode(&mut self, batch: &[BatchEntry]) -> Result<(), DecodeFailed>;
    /// One value per token of the vocabulary, for the entry at `index` of the last batch, whose `wants_logits` was set.
    fn logits(&self, index: usize) -> &[f32];
    /// Gives the empty sequence `to` the first `length` tokens of `from`, without computing or storing them again.
    fn copy_prefix(&mut self, from: usize, to: usize, length: usize);
    fn clear(&mut self, sequence: usize);
}

/// Computes the vectors of independent inputs.
///
/// The caller stays within [`EmbedderCapacity`]; an implementation over C++ may end the process otherwise.
pub trait Embedder {
    /// One vector for each input, as the model makes it. The inputs, none of which is empty, have at most [`STEP_TOKENS_MAX`] tokens
    /// together, unless there is only one.
    fn embed(&mut self, inputs: &[&[Token]]) -> Result<Vec<Vec<f32>>, DecodeFailed>;
}

/// Tokens of one step. Cancelling and joining wait for a step's end, so this bounds their delay.
pub const STEP_TOKENS_MAX: usize = 512;
