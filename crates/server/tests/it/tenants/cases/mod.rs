//! At least one case for each operation: who may call it, what its identifier may name, and its body.

mod anthropic;
mod console;
mod exxa;
mod native;
mod open;
mod openai;

use super::sent::Sent;

/// The owner's prompt. No answer to another caller may contain it.
pub(super) const PROMPT: &str = "zebras of the owner";

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// Everybody: it has no data of an account.
    Anyone,
    /// A program with a key of the account.
    Program,
    /// A member of the account, in a browser.
    Member,
    /// An operator, in a browser.
    Operator,
}

/// The kinds of things that an identifier names.
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
    RequestOfBatch,
    Response,
    Upload,
}

/// The position of the identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Path,
    /// In a query, after a path of the caller's own account.
    Query(&'static str),
    Body,
    /// In the header with which a browser resumes a stream of events.
    LastEvent,
    Cookie(&'static str),
}

/// The state of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Live,
    Completed,
    Failed,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    /// Method and path as in the router.
    pub(super) operation: &'static str,
    pub(super) whose: For,
    /// The things that the attacked identifier may name; empty if there is no identifier.
    pub(super) nouns: &'static [Noun],
    pub(super) place: Place,
    pub(super) sent: Sent,
    /// The state in which the owner's call succeeds.
    pub(super) stage: Stage,
    /// The status of the owner's call, if it is refused.
    pub(super) refused: Option<u16>,
}

impl Case {
    const fn of(whose: For, operation: &'static str) -> Self {
        let (nouns, place, sent) = (&[], Place::Path, Sent::Nothing);
        Self { operation, whose, nouns, place, sent, stage: Stage::Live, refused: None }
    }

    /// Its path has an identifier of one of these.
    const fn naming(self, nouns: &'static [Noun]) -> Self {
        Self { nouns, ..self }
    }

    /// Another position has an identifier of one of these.
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

pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    [native::CASES, exxa::CASES, openai::CASES, anthropic::CASES, console::CASES, open::CASES]
        .into_iter()
        .flatten()
}
