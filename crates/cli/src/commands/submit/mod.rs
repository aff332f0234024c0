//! `overnight submit`: a file of prompts, sent as one batch.
//!
//! Until the batch stands, what was accepted is kept in `FILE.submit`, so that the same command goes on where it was
//! stopped.

mod dry_run;

use std::path::PathBuf;

use clap::Args;
use overnight_client::BatchSummary;
use serde_json::json;

use super::model;
use super::status::print_batch;
use super::watch::{exit_of, stopped};
use crate::batches::{Wanted, check_webhook};
use crate::connection::{connect, find_url};
use crate::errors::{CliError, Exit};
use crate::files::beside;
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::journal::Journal;
use crate::output::Output;
use crate::posting::{Refusal, Sending};
use crate::prompts::Prompts;
use crate::waiting::{self, Waited};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One request a line: a Create Request body, a line of an OpenAI batch file, or a chat body.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Ask this model, whatever model the lines name.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// What to call the batch: `batch_name` in its metadata.
    #[arg(long, value_name = "NAME")]
    batch_name: Option<String>,
    /// Where to tell of the batch's end: an https address.
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Wait until every request has ended.
    #[arg(long)]
    wait: bool,
    /// Send nothing: say what the file would cost at most, and whether the credits suffice.
    #[arg(long, conflicts_with_all = ["wait", "batch_name", "webhook"])]
    dry_run: bool,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let prompts =
        Prompts::scan(&arguments.file, arguments.model.as_deref().map(model::name_of).transpose()?)?;
    let client = connect(globals)?;
    let state = beside(&arguments.file, ".submit");
    if arguments.dry_run {
        let missing = match state.exists() {
            true => Journal::open(&state, &find_url(globals)?, prompts.lines())?.missing(),
            false => (0..prompts.lines().len()).collect(),
        };
        return dry_run::run(&client, &prompts, &missing, output).await;
    }
    let mut journal = Journal::open(&state, &find_url(globals)?, prompts.lines())?;
    let interrupt = Interrupt::listen()?;
    let wanted = Wanted { name: arguments.batch_name, webhook: arguments.webhook };
    check_webhook(&client, &wanted).await?;
    let mut sending =
        Sending { client: &client, prompts: &prompts, journal: &mut journal, output, interrupt: &interrupt };
    let refusals = sending.send(&wanted).await?;
    output.note(&format!("{} of {} lines are accepted", sending.accepted(), prompts.lines().len()));
    let ids = journal.batches().to_vec();
    journal.remove()?;
    let mut batches = Vec::with_capacity(ids.len());
    if arguments.wait {
        match waiting::for_batches(&client, &ids, output, &interrupt, waiting::no_reasons).await? {
            Waited::Ended(ended) => batches = ended,
            Waited::Stopped => return Err(stopped(&ids)),
        }
    } else {
        for id in &ids {
            batches.push(client.get_batch_status(id).await?);
        }
    }
    print(output, &refusals, &batches, arguments.wait)?;
    let has_failed = !refusals.is_empty() || (arguments.wait && exit_of(&batches) == Exit::Failed);
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

/// For machines all of it; for people the batches, and for scripts between the two their identifiers alone.
fn print(
    output: &Output,
    refusals: &[Refusal],
    batches: &[BatchSummary],
    has_ended: bool,
) -> Result<(), CliError> {
    if output.is_json {
        let refused: Vec<_> = refusals
            .iter()
            .map(|refusal| json!({"line": refusal.index + 1, "status": refusal.status, "error": refusal.error}))
            .collect();
        let id = batches.first().map(|batch| &batch.id);
        return output.object(&json!({"id": id, "batches": batches, "refused": refused}));
    }
    if has_ended {
        return batches.iter().try_for_each(|batch| print_batch(output, batch));
    }
    batches.iter().try_for_each(|batch| output.line(&batch.id))
}
