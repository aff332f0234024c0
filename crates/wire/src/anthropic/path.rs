//! The path of a value in the params in Anthropic's spelling. Its text is built only for a fault.

use std::fmt::{self, Display};

use overnight_domain::faults::Quoted;

/// A path such as `messages.0.content.1.source`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(super) fn member(&'a self, key: &'a str) -> Self {
        Path::Member(self, key)
    }

    pub(super) fn element(&'a self, index: usize) -> Self {
        Path::Element(self, index)
    }
}

impl Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Member(Path::Root, key) => write!(formatter, "{}", Quoted(key)),
            Path::Member(parent, key) => write!(formatter, "{parent}.{}", Quoted(key)),
            Path::Element(parent, index) => write!(formatter, "{parent}.{index}"),
        }
    }
}
