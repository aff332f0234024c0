//! Places in a body, written out only if there is a fault to report.

use std::fmt::{self, Display};

use crate::faults::Quoted;

/// The way from the outermost value to an inner one, such as `request_body.messages[0].role`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Path<'a> {
    Root(&'a str),
    Member(&'a Path<'a>, &'a str),
    Element(&'a Path<'a>, usize),
}

impl<'a> Path<'a> {
    pub(crate) fn member(&'a self, key: &'a str) -> Self {
        Path::Member(self, key)
    }

    pub(crate) fn element(&'a self, index: usize) -> Self {
        Path::Element(self, index)
    }
}

impl Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(name) => formatter.write_str(name),
            Path::Member(Path::Root(""), key) => write!(formatter, "{}", Quoted(key)),
            Path::Member(parent, key) => write!(formatter, "{parent}.{}", Quoted(key)),
            Path::Element(parent, index) => write!(formatter, "{parent}[{index}]"),
        }
    }
}
