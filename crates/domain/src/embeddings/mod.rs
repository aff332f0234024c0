//! Embedding bodies: texts that the model turns into vectors. There is no priced output.

mod answer;
mod body;

pub use answer::{inputs_asked, parse_embeddings};
pub use body::EmbeddingBody;

#[cfg(test)]
mod tests;
