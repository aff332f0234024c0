//! Sending the lines that have no request yet, many at once, in order.

use std::cell::Cell;

use futures_util::{StreamExt, stream};
use overnight_client::{Client, Error as ClientError, ErrorBody, RequestCreated};

use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::journal::{Asked, Journal};
use crate::output::Output;
use crate::progress::Progress;
use crate::prompts::Prompts;

/// Requests that are being sent at once. The journal relies on it being far fewer than it looks back.
const IN_FLIGHT: usize = 64;

/// How many refused lines are told of.
const REFUSALS_SHOWN: usize = 20;

/// A line that the service would not take.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The line, counted from 0.
    pub(crate) index: usize,
    /// The HTTP status of the answer.
    pub(crate) status: u16,
    /// The service's words.
    pub(crate) error: Box<ErrorBody>,
}

enum Outcome {
    Accepted(RequestCreated),
    Refused(u16, Box<ErrorBody>),
}

/// Sends every line that the journal has no request for, and writes down each one accepted. A line that the service
/// refuses does not stop the others.
///
/// # Errors
/// What keeps any line from being sent. What was accepted by then is written down.
pub(crate) async fn post_missing(
    client: &Client,
    prompts: &Prompts,
    journal: &mut Journal,
    output: &Output,
    interrupt: &Interrupt,
) -> Result<Vec<Refusal>, CliError> {
    let missing = journal.missing();
    let total = prompts.lines().len();
    let mut done = total - missing.len();
    let mut progress = Progress::begin(output, "sending", total as u64, done as u64);
    let mut reader = prompts.reader()?;
    let must_stop = Cell::new(false);
    let bodies = missing
        .into_iter()
        .take_while(|_| !must_stop.get() && !interrupt.is_raised())
        .map(|index| (index, reader.create_body(index)));
    let answers = stream::iter(bodies).map(|(index, body)| async move { (index, post(client, body).await) });
    let mut answers = answers.buffered(IN_FLIGHT).ready_chunks(IN_FLIGHT);
    let (mut refusals, mut failure) = (Vec::new(), None);
    while let Some(chunk) = answers.next().await {
        done += chunk.len();
        let mut asked = Vec::with_capacity(chunk.len());
        for (index, outcome) in chunk {
            match outcome {
                Ok(Outcome::Accepted(RequestCreated { id, created_at, .. })) => {
                    asked.push(Asked { index, id, created_at });
                }
                Ok(Outcome::Refused(status, error)) => {
                    tell_of_refusal(&progress, refusals.len(), index, &error);
                    refusals.push(Refusal { index, status, error });
                }
                // What is under way is still waited for, so that little is left in doubt.
                Err(error) => {
                    must_stop.set(true);
                    failure.get_or_insert(error);
                }
            }
        }
        journal.record_asked(prompts.lines(), &asked)?;
        progress.set(done as u64, "");
    }
    failure.map_or(Ok(refusals), Err)
}

async fn post(client: &Client, body: Result<Vec<u8>, CliError>) -> Result<Outcome, CliError> {
    match client.create_request_raw(body?).await {
        Ok(created) => Ok(Outcome::Accepted(created)),
        Err(ClientError::Api { status: status @ (413 | 422), error, .. }) => {
            Ok(Outcome::Refused(status, error))
        }
        Err(error) => Err(error.into()),
    }
}

fn tell_of_refusal(progress: &Progress, told: usize, index: usize, error: &ErrorBody) {
    if told < REFUSALS_SHOWN {
        progress.note(&format!("line {} was refused: {}", index + 1, error.message));
    } else if told == REFUSALS_SHOWN {
        progress.note("more lines were refused");
    }
}
