//! Requests to be created.

use std::fmt;

use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;

use crate::pages::Pages;

pub(super) struct Draft {
    pub(super) source: DraftSource,
    pub(super) endpoint: Endpoint,
    /// The body of Create Request, or why there is none.
    pub(super) body: Result<Vec<u8>, String>,
}

/// The total bytes of their bodies.
pub(super) fn bytes_of(drafts: &[Draft]) -> usize {
    drafts.iter().map(|draft| draft.body.as_ref().map_or(0, Vec::len)).sum()
}

/// A source of drafts; a clone starts from the beginning.
pub(super) trait Drafts: Pages<Row = Draft> + Clone {}

impl<P: Pages<Row = Draft> + Clone> Drafts for P {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftSource {
    /// A line of a text, counted from 1.
    Line(usize),
    /// An existing request.
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

/// Why a request cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFault {
    pub source: DraftSource,
    /// For people: a whole sentence without a full stop.
    pub message: String,
}
