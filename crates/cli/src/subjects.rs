//! What an identifier on the command line names.

use overnight_domain::ids::{BatchId, RequestId};

/// A request or a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// `req_…`
    Request(String),
    /// `batch_…`
    Batch(String),
}

impl Subject {
    /// Reads an identifier, as clap wants its readers.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if RequestId::parse(text).is_some() {
            return Ok(Self::Request(text.to_owned()));
        }
        if BatchId::parse(text).is_some() {
            return Ok(Self::Batch(text.to_owned()));
        }
        Err("an identifier is req_ or batch_ and 26 characters".to_owned())
    }
}
