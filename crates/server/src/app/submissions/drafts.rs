//! Requests that are to be made.

use std::fmt;

use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;

use crate::app::pages::Pages;

pub(super) struct Draft {
    pub(super) source: DraftSource,
    pub(super) endpoint: Endpoint,
    /// The body of Create Request, or why there is none.
    pub(super) body: Result<Vec<u8>, String>,
}

/// The bytes of their bodies.
pub(super) fn bytes_of(drafts: &[Draft]) -> usize {
    drafts.iter().map(|draft| draft.body.as_ref().map_or(0, Vec::len)).sum()
}

/// Where they come from; a clone goes through them from the beginning.
pub(super) trait Drafts: Pages<Row = Draft> + Clone {}

impl<P: Pages<Row = Draft> + Clone> Drafts for P {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftSource {
    /// A line of a text, counted from 1.
    Line(usize),
    /// A request that was made before.
    Request(RequestId),
}

impl fmt::Display for DraftSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Request(id) => write!(f, "{id}"),
        }
    }
}

/// Why one of them cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFault {
    pub source: DraftSource,
    /// For people: a whole sentence without a full stop.
    pub message: String,
}
