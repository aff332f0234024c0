//! The samples of the document word for word, and the agreement of types and writers.

mod agreement;
#[cfg(feature = "openapi")]
mod reference;
mod samples;
