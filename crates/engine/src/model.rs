//! What the engine asks of a language model: a vocabulary, which any thread may use, and a decoder or an embedder,
//! which lives on one thread. Everything else in this crate knows a model only through these traits.

/// The number of a token in a model's vocabulary.
pub type Token = u32;

/// One token of one step: where it stands in which sequence, and whether its logits are read afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEntry {
    /// The token to feed.
    pub token: Token,
    /// Its position in the sequence, counted from 0; positions of a sequence are fed without gaps.
    pub position: usize,
    /// The sequence it belongs to, below [`Capacity::sequences`].
    pub sequence: usize,
    /// Whether [`Decoder::logits`] may be asked for this entry after the step.
    pub wants_logits: bool,
}

/// How much a loaded model can hold at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Tokens that one request may hold, prompt and answer together; at most `cells`.
    pub context: usize,
    /// Cells of the key-value cache, one a token, shared by all sequences.
    pub cells: usize,
    /// Sequences that are decoded in one step.
    pub parallel: usize,
    /// Sequences that the cache tells apart: those running and those kept for their prefixes.
    pub sequences: usize,
    /// The most cells that sequences which ended may hold for their prefixes; every step looks at them, so they are not free.
    pub kept_cells: usize,
    /// How many cells of other sequences a token passes over in the time in which a step reads the weights.
    pub masked_cells: usize,
    /// How many tokens share a pass over the weights without a rest that costs a pass of its own; at least 1.
    pub tile_tokens: usize,
    /// Whether a part of a sequence can be handed to another one; recurrent models cannot.
    pub shares_prefixes: bool,
}

/// How much an embedding model computes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmbedderCapacity {
    /// Tokens that one input may hold.
    pub context: usize,
    /// Inputs that are computed together.
    pub parallel: usize,
    /// Tokens up to which inputs are computed together; one input may have more. At most [`STEP_TOKENS_MAX`].
    pub step_tokens: usize,
    pub width: usize,
}

/// Turns text into tokens and back.
pub trait Vocabulary: Send + Sync {
    /// The tokens of `text`, special tokens recognised, with the model's opening token where it wants one.
    fn tokenize(&self, text: &str) -> Vec<Token>;
    /// The tokens of a text to embed, special tokens recognised, with those around it that the model wants.
    fn tokenize_input(&self, text: &str) -> Vec<Token>;
    /// The bytes that `token` stands for; empty for a control token.
    fn piece(&self, token: Token) -> &[u8];
    /// Whether `token` ends the assistant's turn.
    fn ends_turn(&self, token: Token) -> bool;
    /// The tokens that end the assistant's turn.
    fn end_tokens(&self) -> &[Token];
    /// How many tokens there are; every [`Token`] is below it.
    fn token_count(&self) -> usize;
    /// The most bytes of text that one token stands for.
    fn longest_piece(&self) -> usize;
}

/// A step that the model could not compute. What the batch's sequences hold is unknown until they are cleared.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the model could not compute a step: {0}")]
pub struct DecodeFailed(pub String);

/// Computes steps over many sequences that share one cache.
///
/// The caller keeps within [`Capacity`]; an implementation over C++ may end the process otherwise.
pub trait Decoder {
    /// Feeds one batch, at most [`STEP_TOKENS_MAX`] entries.
    ///
    /// # Errors
    /// [`DecodeFailed`] if the step was not computed.
    fn decode(&mut self, batch: &[BatchEntry]) -> Result<(), DecodeFailed>;
    /// One value per token of the vocabulary, for the entry at `index` of the last batch, which wanted them.
    fn logits(&self, index: usize) -> &[f32];
    /// Gives the empty sequence `to` the first `length` tokens of `from`, without computing or storing them again.
    fn copy_prefix(&mut self, from: usize, to: usize, length: usize);
    fn clear(&mut self, sequence: usize);
}

/// Computes the vectors of inputs, which do not see each other.
///
/// The caller keeps within [`EmbedderCapacity`]; an implementation over C++ may end the process otherwise.
pub trait Embedder {
    /// One vector for each input, as the model makes it. The inputs together have at most [`STEP_TOKENS_MAX`] tokens, but for
    /// one that is longer by itself; none is empty.
    ///
    /// # Errors
    /// [`DecodeFailed`] if they were not computed.
    fn embed(&mut self, inputs: &[&[Token]]) -> Result<Vec<Vec<f32>>, DecodeFailed>;
}

/// The most tokens that go into one step. Cancelling and joining wait for a step's end, so it bounds how long they do.
pub const STEP_TOKENS_MAX: usize = 512;
