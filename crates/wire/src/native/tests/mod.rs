//! The document's samples word for word, and the two ways a record is told held together.

mod agreement;
#[cfg(feature = "openapi")]
mod reference;
mod samples;
