//! Embedding bodies: texts that the model makes vectors of. There is no output that would be priced.

mod answer;
mod body;

pub use answer::{inputs_asked, parse_embeddings};
pub use body::EmbeddingBody;

#[cfg(test)]
mod tests;
