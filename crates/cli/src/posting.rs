//! Sending the lines that have no request yet, as one bulk create.

use std::cell::{Cell, RefCell};
use std::pin::pin;

use futures_util::{StreamExt, stream};
use overnight_client::{BulkOutcome, Client, Error as ClientError, ErrorBody, RequestCreated};

use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::journal::{Asked, Journal};
use crate::output::Output;
use crate::progress::Progress;
use crate::prompts::Prompts;

/// Answers that are written down together at most.
const RECORDED_AT_ONCE: usize = 256;

/// What a line is told whose number went with the key and another text before.
const KEY_REUSED: &str = "idempotency_key_reused";

/// How many refused lines are told of.
const REFUSALS_SHOWN: usize = 20;

/// A part that is sent, and to whom.
pub(crate) struct Sending<'a> {
    pub(crate) client: &'a Client,
    pub(crate) prompts: &'a Prompts,
    pub(crate) journal: &'a mut Journal,
    pub(crate) output: &'a Output,
    pub(crate) interrupt: &'a Interrupt,
    /// The lines of all parts.
    pub(crate) total: usize,
}

/// A line that the service would not take.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The line, counted from 0 in all that is sent.
    pub(crate) index: usize,
    /// The HTTP status of the answer.
    pub(crate) status: u16,
    /// The service's words.
    pub(crate) error: Box<ErrorBody>,
}

/// Sends these lines, counted from 0 in the part, that the journal has no request for, and writes down each one accepted. A line that
/// the service refuses does not stop the others.
///
/// # Errors
/// What keeps any line from being sent. What was accepted by then is written down.
pub(crate) async fn post_missing(
    sending: &mut Sending<'_>,
    missing: &[usize],
) -> Result<Vec<Refusal>, CliError> {
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let mut refusals = post(sending, missing).await?;
    sending.journal.record_sent()?;
    // Lines that were sent by an attempt that broke off, and changed since. Of what went with that key nothing is in doubt now.
    let first = sending.prompts.first();
    let changed = refusals.extract_if(.., |refusal| refusal.error.code == KEY_REUSED);
    let changed: Vec<_> = changed.map(|refusal| refusal.index - first).collect();
    if !changed.is_empty() {
        refusals.extend(post(sending, &changed).await?);
        sending.journal.record_sent()?;
        refusals.sort_unstable_by_key(|refusal| refusal.index);
    }
    Ok(refusals)
}

/// Sends these lines, each under its number in the file, with the key of the journal.
async fn post(sending: &mut Sending<'_>, lines: &[usize]) -> Result<Vec<Refusal>, CliError> {
    let Sending { client, prompts, journal, output, interrupt, total: all } = sending;
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
    let bulk = client.once(&journal.key())?.create_requests_raw(stream::iter(bodies))?;
    let mut outcomes = pin!(bulk.into_stream().ready_chunks(RECORDED_AT_ONCE));
    let (mut refusals, mut failure) = (Vec::new(), None);
    while let Some(chunk) = outcomes.next().await {
        let mut asked = Vec::with_capacity(chunk.len());
        for outcome in chunk {
            match outcome.map(|BulkOutcome { line, created, .. }| {
                (usize::try_from(line).map_or(0, |line| line - 1), created)
            }) {
                Ok((index, Ok(RequestCreated { id, created_at, .. }))) => {
                    asked.push(Asked { index, id, created_at });
                }
                Ok((index, Err(ClientError::Api { status: status @ (413 | 422), error, .. }))) => {
                    tell_of_refusal(&progress, refusals.len(), &prompts.name_of(index), &error);
                    refusals.push(Refusal { index: prompts.first() + index, status, error });
                }
                // What is under way is still waited for, so that little is left in doubt.
                Ok((_, Err(error))) | Err(error) => {
                    must_stop.set(true);
                    failure.get_or_insert(CliError::from(error));
                }
            }
        }
        done += asked.len();
        journal.record_asked(prompts.lines(), &asked)?;
        let refused = match refusals.len() {
            0 => String::new(),
            count => format!("{count} refused"),
        };
        progress.set((done + refusals.len()) as u64, &refused);
    }
    unread.take().or(failure).map_or(Ok(refusals), Err)
}

fn tell_of_refusal(progress: &Progress, told: usize, name: &str, error: &ErrorBody) {
    if error.code == KEY_REUSED {
        return;
    }
    if told < REFUSALS_SHOWN {
        progress.note(&format!("{name} was refused: {}", error.message));
    } else if told == REFUSALS_SHOWN {
        progress.note("more lines were refused");
    }
}
