//! One case at least for each operation that is served: whose the call is, what its identifier may name, and what it sends.

mod anthropic;
mod console;
mod exxa;
mod native;
mod open;
mod openai;

use super::sent::Sent;

/// A request as the owner sends it. No answer to others may hold its words.
pub(super) const PROMPT: &str = "zebras of the owner";

/// Whose an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Anybody's: nothing in it belongs to an account.
    Anyone,
    /// A program's, with the key of an account.
    Program,
    /// A member's of the account, in a browser.
    Member,
    /// An operator's, in a browser.
    Operator,
}

/// What an identifier names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noun {
    Account,
    Batch,
    BatchErrors,
    BatchInput,
    BatchOutput,
    Event,
    File,
    Item,
    Key,
    Member,
    MessageBatch,
    Part,
    Request,
    /// One that is in a batch.
    RequestOfBatch,
    Response,
    Upload,
}

/// Where the identifier stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    /// Behind a path of the caller's own, as this query has it.
    Query(&'static str),
    Body,
    /// In the header with which a browser takes events up again.
    LastEvent,
    /// In the cookie of this name.
    Cookie(&'static str),
}

/// What became of the requests in question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Live,
    Completed,
    Failed,
}

/// How an operation is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// Its method and its path, as the router has them.
    pub(super) operation: &'static str,
    pub(super) whose: For,
    /// What the identifier under attack may name; empty where there is none.
    pub(super) nouns: &'static [Noun],
    pub(super) place: Place,
    pub(super) sent: Sent,
    /// What must have become of it, so that its owner's call succeeds.
    pub(super) stage: Stage,
    /// The status with which the owner's call is refused, if it is.
    pub(super) refused: Option<u16>,
}

impl Case {
    const fn of(whose: For, operation: &'static str) -> Self {
        let (nouns, place, sent) = (&[], Place::Path, Sent::Nothing);
        Self { operation, whose, nouns, place, sent, stage: Stage::Live, refused: None }
    }

    /// Its path names one of these.
    const fn naming(self, nouns: &'static [Noun]) -> Self {
        Self { nouns, ..self }
    }

    /// One of these is named elsewhere.
    const fn naming_in(self, place: Place, nouns: &'static [Noun]) -> Self {
        Self { nouns, place, ..self }
    }

    const fn sending(self, sent: Sent) -> Self {
        Self { sent, ..self }
    }

    const fn once(self, stage: Stage) -> Self {
        Self { stage, ..self }
    }

    const fn refused(self, status: u16) -> Self {
        Self { refused: Some(status), ..self }
    }

    pub(super) fn method(&self) -> &'static str {
        self.operation.split_once(' ').expect("a method and a path").0
    }

    pub(super) fn path(&self) -> &'static str {
        self.operation.split_once(' ').expect("a method and a path").1
    }
}

const fn program(operation: &'static str) -> Case {
    Case::of(For::Program, operation)
}

const fn member(operation: &'static str) -> Case {
    Case::of(For::Member, operation)
}

const fn operator(operation: &'static str) -> Case {
    Case::of(For::Operator, operation)
}

const fn open(operation: &'static str) -> Case {
    Case::of(For::Anyone, operation)
}

/// Every case.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    [native::CASES, exxa::CASES, openai::CASES, anthropic::CASES, console::CASES, open::CASES]
        .into_iter()
        .flatten()
}
