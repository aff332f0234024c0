//! Sends the lines without a request as one bulk create.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::path::Path;

use futures_util::{StreamExt, stream};
use overnight_client::{BulkOutcome, Client, Error as ClientError, ErrorBody, RequestCreated};
use serde::{Deserialize, Serialize};

use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::journal::{Asked, Journal};
use crate::kept::{Keeping, Kept};
use crate::output::Output;
use crate::progress::Progress;
use crate::prompts::Prompts;
use crate::reasons::Reasons;

/// The limit of answers that are recorded together.
const RECORDED_AT_ONCE: usize = 256;

/// The error of a line whose number was sent with the key and another text before.
const KEY_REUSED: &str = "idempotency_key_reused";

/// A part that is sent, and its service.
pub(crate) struct Sending<'a> {
    pub(crate) client: &'a Client,
    pub(crate) prompts: &'a Prompts,
    pub(crate) journal: &'a mut Journal,
    pub(crate) output: &'a Output,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) total: usize,
    pub(crate) refusals: &'a mut Refusals,
}

/// The refused lines, with their errors.
pub(crate) struct Refusals {
    kept: Keeping<Refusal>,
    reasons: Reasons,
}

impl Refusals {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { kept: Keeping::new(folder), reasons: Reasons::default() }
    }

    /// Prints the remaining reasons, and ends the list.
    pub(crate) fn end(self, output: &Output) -> Result<Kept<Refusal>, CliError> {
        let rest = self.reasons.rest(["was refused", "were refused"]);
        rest.iter().for_each(|line| output.note(line));
        self.kept.end().map_err(|error| unkept(&error))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// The line, counted from 1 in the whole input.
    pub(crate) line: usize,
    pub(crate) status: u16,
    pub(crate) error: Box<ErrorBody>,
}

/// Sends these lines without a request, counted from 0 in the part, and records each accepted one. A refused line is added to the refusals,
/// and does not stop the others. Returns the refused lines. On a failure, accepted lines are recorded.
pub(crate) async fn post_missing(
    sending: &mut Sending<'_>,
    missing: &[usize],
) -> Result<HashSet<usize>, CliError> {
    if missing.is_empty() {
        return Ok(HashSet::new());
    }
    let Posted { changed, mut refused } = post(sending, missing).await?;
    sending.journal.record_sent()?;
    // All lines that the broken attempt sent with the key now have their answers.
    if !changed.is_empty() {
        refused.extend(post(sending, &changed).await?.refused);
        sending.journal.record_sent()?;
    }
    Ok(refused)
}

/// Lines that still have no request after they were sent.
#[derive(Default)]
struct Posted {
    /// Lines that a broken attempt has sent with this key, and that have changed since.
    changed: Vec<usize>,
    refused: HashSet<usize>,
}

/// Sends these lines, each under its number in the file, with the journal's key.
async fn post(sending: &mut Sending<'_>, lines: &[usize]) -> Result<Posted, CliError> {
    let Sending { client, prompts, journal, output, interrupt, total: all, refusals } = sending;
    let total = prompts.lines().len();
    let mut done = prompts.first() + total - lines.len();
    let mut progress = Progress::begin(output, "sending", *all as u64, done as u64);
    let mut reader = prompts.reader();
    let (must_stop, unread) = (Cell::new(false), RefCell::new(None));
    let mut left = lines.iter().peekable();
    let bodies = (0..total).map_while(|index| {
        if must_stop.get() || interrupt.is_raised() || left.peek().is_none() {
            return None;
        }
        // A line that is left out is sent as a blank one, so that each keeps its number.
        let body = left.next_if_eq(&&index).map_or_else(|| Ok(Vec::new()), |_| reader.create_body(index));
        body.map_err(|error| unread.replace(Some(error))).ok()
    });
    let mut bulk = client.once(&journal.key_to_send())?.create_requests_raw(stream::iter(bodies))?;
    let mut outcomes = Box::pin(bulk.outcomes().ready_chunks(RECORDED_AT_ONCE));
    let (mut posted, mut failure) = (Posted::default(), None);
    while let Some(chunk) = outcomes.next().await {
        let mut asked = Vec::with_capacity(chunk.len());
        for outcome in chunk {
            match outcome.map(|BulkOutcome { line, created, .. }| {
                (usize::try_from(line).map_or(0, |line| line - 1), created)
            }) {
                Ok((index, Ok(RequestCreated { id, created_at, .. }))) => {
                    asked.push(Asked { index, id, created_at });
                }
                Ok((index, Err(ClientError::Api { status: 413 | 422, error, .. })))
                    if error.code == KEY_REUSED =>
                {
                    posted.changed.push(index);
                }
                Ok((index, Err(ClientError::Api { status: status @ (413 | 422), error, .. }))) => {
                    posted.refused.insert(index);
                    if refusals.reasons.see(&error.message) {
                        progress.note(&format!("{} was refused: {}", prompts.name_of(index), error.message));
                    }
                    let refusal = Refusal { line: prompts.first() + index + 1, status, error };
                    refusals.kept.push(&refusal).map_err(|error| unkept(&error))?;
                }
                // Answers in transit are still awaited, so that few lines are in doubt.
                Ok((_, Err(error))) | Err(error) => {
                    must_stop.set(true);
                    failure.get_or_insert(CliError::from(error));
                }
            }
        }
        done += asked.len();
        journal.record_asked(prompts.lines(), &asked)?;
        let beside = match posted.refused.len() {
            0 => String::new(),
            count => format!("{count} refused"),
        };
        progress.set((done + posted.refused.len() + posted.changed.len()) as u64, &beside);
    }
    drop(outcomes);
    tell_of_strays(output, bulk.strays());
    unread.take().or(failure).map_or(Ok(posted), Err)
}

/// Reports requests of lines that are not in the file, because a proxy changed the call. They run, and cost.
fn tell_of_strays(output: &Output, ids: &[String]) {
    for id in ids {
        output.note(&format!(
            "a proxy changed a line: the service made {id} of it, which is no line of the file; `overnight cancel {id}` ends it"
        ));
    }
}

/// The error if the record of refused lines is lost.
pub(crate) fn unkept(error: &io::Error) -> CliError {
    CliError::unusable(format!("refused lines cannot be kept: {error}"))
}
