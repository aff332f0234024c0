//! `overnight submit`: sends a file of prompts as one batch.
//!
//! Until the batch exists, `FILE.submit` records accepted requests, so that the same command resumes after a stop.

mod dry_run;

use std::path::{Path, PathBuf};

use clap::Args;
use overnight_base::private_files::folder_of;
use overnight_client::BatchSummary;
use serde::Serialize;

use super::model;
use super::status::print_batch;
use super::watch::{exit_of, stopped};
use crate::batches::{Wanted, check_webhook};
use crate::connection::{connect, find_url};
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::journal::Journals;
use crate::kept::Kept;
use crate::output::Output;
use crate::paths::path;
use crate::posting::Refusal;
use crate::prompts::{Asking, Input, Source, TableArguments};
use crate::sampling::{CostArguments, check_cost};
use crate::sending::{Chosen, Sent, Submission, tell_of_batches};
use crate::served_models;
use crate::waiting::{self, Waited};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One request a line: a Create Request body, a line of an OpenAI batch file, or a chat body. Or a table, with --prompt.
    /// `-` is standard input.
    #[arg(value_name = "FILE", value_parser = path())]
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
    #[arg(long, conflicts_with_all = ["wait", "batch_name", "webhook", "sample", "max_cost"])]
    dry_run: bool,
    #[command(flatten)]
    tables: TableArguments,
    #[command(flatten)]
    costs: CostArguments,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let model = arguments.model.as_deref().map(model::name_of).transpose()?;
    let asking = Asking::of(&arguments.tables, model.as_deref())?;
    // The copy of piped input is here: the folder of a pipe may be `/dev/fd`, in which no file can be created.
    let folder = if arguments.file.is_file() { folder_of(&arguments.file) } else { Path::new(".") };
    let source = Source::open(&arguments.file, arguments.tables.input_format, folder)?;
    let state = source.state(".submit");
    let input = Input::check(source, asking, model.clone(), arguments.tables.batch_lines)?;
    let (client, service) = (connect(globals)?, find_url(globals)?);
    let hint = format!("none of the {} lines was sent", input.lines());
    match &model {
        Some(model) => served_models::check(&client, model).await.map_err(|error| error.with_hint(hint))?,
        // Reports an unavailable service or an unknown key before a journal exists.
        None => drop(client.list_models().await?),
    }
    if arguments.dry_run {
        let mut journals = match state.exists() {
            true => Some(Journals::open(&state, &service, &input)?),
            false => None,
        };
        return dry_run::run(&client, &input, journals.as_mut(), output).await;
    }
    let mut journals = Journals::open(&state, &service, &input)?;
    let interrupt = Interrupt::listen()?;
    let wanted = Wanted { name: arguments.batch_name, webhook: arguments.webhook };
    check_webhook(&client, &wanted).await?;
    let mut submission = Submission {
        client: &client,
        input: &input,
        journals: &mut journals,
        output,
        interrupt: &interrupt,
        wanted: &wanted,
    };
    check_cost(&mut submission, &arguments.costs).await?;
    let Sent { accepted, refusals, batches: ids } = submission.send(Chosen::All).await?;
    output.note(&format!("{accepted} of {} lines are accepted", input.lines()));
    journals.remove(input.parts())?;
    let mut batches = Vec::with_capacity(ids.len());
    if arguments.wait {
        tell_of_batches(output, &ids);
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

#[derive(Serialize)]
struct Submitted<'a> {
    /// The first batch.
    id: Option<&'a str>,
    batches: &'a [BatchSummary],
    refused: &'a Kept<Refusal>,
}

/// Prints everything as JSON, else batches that have ended, else only identifiers, for scripts.
fn print(
    output: &Output,
    refused: &Kept<Refusal>,
    batches: &[BatchSummary],
    has_ended: bool,
) -> Result<(), CliError> {
    if output.is_json {
        let id = batches.first().map(|batch| batch.id.as_str());
        return output.object(&Submitted { id, batches, refused });
    }
    if has_ended {
        return batches.iter().try_for_each(|batch| print_batch(output, batch));
    }
    batches.iter().try_for_each(|batch| output.line(&batch.id))
}
