//! `overnight run`: the whole service in one command. It sends a file of prompts, waits, and writes the answers.

mod answers;
mod collecting;
mod host;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use overnight_client::Client;
use overnight_hub::HubName;
use overnight_server::app::Services;
use overnight_server::config::Config;
use overnight_server::store::prepare_folder;
use serde_json::json;

use self::collecting::{Counts, collect};
use self::host::{Host, hindrances};
use crate::batches::Wanted;
use crate::commands::model;
use crate::errors::{CliError, Exit};
use crate::files::{beside, folder_of};
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::journal::Journal;
use crate::output::Output;
use crate::posting::Sending;
use crate::prompts::Prompts;
use crate::sending::how_to_go_on;
use crate::serve_file::url_of_running;
use crate::times;
use crate::waiting::{self, Waited};

#[derive(Debug, Args)]
#[command(after_help = "\
Writes one line for each line of FILE, in the same order. What was asked is kept in RESULTS.run: stopped in any way,
the same command goes on, and run again later it asks only for lines that are new, changed, or failed. Delete that file
to ask for everything anew.

Where `overnight serve` is running over the same data folder, it does the work; otherwise this command is the service,
and logs to run.log in the data folder.")]
pub(crate) struct Arguments {
    /// One request a line: a Create Request body, a line of an OpenAI batch file, or a chat body.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the answers, once there are all of them.
    #[arg(long, short, value_name = "RESULTS")]
    output: PathBuf,
    /// Ask this model, whatever model the lines name: one of the settings, or hf:OWNER/REPO[:FILE or quantisation] of the Hugging
    /// Face Hub, which is downloaded and runs on this machine.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let mut config = globals.load_config()?;
    let hub_model =
        arguments.model.as_deref().filter(|model| HubName::is_meant(model)).map(model::parse).transpose()?;
    let model = arguments.model.as_deref().map(model::name_of).transpose()?;
    let prompts = Prompts::scan(&arguments.file, model.clone())?;
    check_output(&arguments)?;
    prepare_folder(&config.data_dir)?;
    if let Some(name) = &hub_model {
        let is_served = config.models.iter().any(|known| known.name == name.model_name());
        config = config.with_hub_model(name);
        if !is_served && url_of_running(&config.data_dir).is_none() {
            model::fetch(name, output).await?;
        }
    }
    let mut journal = Journal::open(&beside(&arguments.output, ".run"), &name_of(&config)?, prompts.lines())?;
    let interrupt = Interrupt::listen()?;
    let begun_at = times::now();
    let host = Host::find_or_start(config).await?;
    let services = host.services(globals).await;
    let job = Job { prompts: &prompts, target: &arguments.output, output, interrupt: &interrupt, services };
    let outcome = match host.client() {
        Ok(client) => tokio::select! {
            outcome = job.carry_out(&client, model.as_deref(), &mut journal) => outcome,
            trouble = host.trouble(model.as_deref()) => Err(trouble),
        },
        Err(error) => Err(error),
    };
    drop(job);
    host.shutdown().await;
    let counts = outcome?;
    report(&counts, &arguments.output, times::now() - begun_at, output)?;
    Ok(if counts.completed == counts.lines { Exit::Done } else { Exit::Failed })
}

/// What is to be done, whoever serves.
struct Job<'a> {
    prompts: &'a Prompts,
    target: &'a Path,
    output: &'a Output,
    interrupt: &'a Interrupt,
    /// By which the user is told why nothing moves.
    services: Option<Services>,
}

impl Job<'_> {
    async fn carry_out(
        &self,
        client: &Client,
        model: Option<&str>,
        journal: &mut Journal,
    ) -> Result<Counts, CliError> {
        if let Some(model) = model {
            check_model(client, model).await?;
        }
        let name = self.prompts.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let (prompts, output, interrupt) = (self.prompts, self.output, self.interrupt);
        let mut sending = Sending { client, prompts, journal, output, interrupt };
        let refusals = sending.send(&Wanted { name, webhook: None }).await?;
        let reasons = async || hindrances(self.services.as_ref()).await;
        let waited = waiting::for_batches(client, journal.batches(), output, interrupt, reasons).await;
        if let Waited::Stopped = waited.map_err(|error| error.with_hint(how_to_go_on()))? {
            return Err(CliError::interrupted("stopped: every line is sent, and not every answer is there")
                .with_hint(how_to_go_on()));
        }
        let counts = collect(client, prompts, journal, &refusals, self.target, output).await;
        counts.map_err(|error| error.with_hint(how_to_go_on()))
    }
}

/// Refuses a model that the service, which may have been running before, does not have: it would refuse every line.
async fn check_model(client: &Client, model: &str) -> Result<(), CliError> {
    let known = client.list_models().await?;
    if known.iter().any(|it| it.id == model) {
        return Ok(());
    }
    let names: Vec<&str> = known.iter().map(|it| it.id.as_str()).collect();
    let message = format!("the service has no model {model:?}; it has {}", names.join(", "));
    Err(CliError::refused(message)
        .with_hint("stop it, or add a [[models]] section with this name and an engine to its settings"))
}

/// Refuses an output that cannot be written, before anything is asked.
fn check_output(arguments: &Arguments) -> Result<(), CliError> {
    let target = &arguments.output;
    let folder = folder_of(target);
    if !folder.is_dir() {
        return Err(CliError::unusable(format!("{} is no folder to write results into", folder.display())));
    }
    let is_same = fs::canonicalize(target)
        .is_ok_and(|target| fs::canonicalize(&arguments.file).is_ok_and(|file| file == target));
    if target.is_dir() || is_same {
        return Err(CliError::unusable(format!("{} cannot be the file of results", target.display())));
    }
    Ok(())
}

/// What tells this data folder from others.
fn name_of(config: &Config) -> Result<String, CliError> {
    let path =
        fs::canonicalize(&config.data_dir).map_err(|error| CliError::file(&config.data_dir, &error))?;
    Ok(path.display().to_string())
}

fn report(counts: &Counts, target: &Path, elapsed_ms: i64, output: &Output) -> Result<(), CliError> {
    if output.is_json {
        return output.object(&json!({
            "output": target.display().to_string(),
            "lines": counts.lines,
            "completed": counts.completed,
            "failed": counts.failed,
            "cancelled": counts.cancelled,
            "refused": counts.refused,
            "warned": counts.warned,
        }));
    }
    let others = [(counts.failed, "failed"), (counts.cancelled, "cancelled"), (counts.refused, "refused")];
    let others =
        others.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!(", {count} {word}"));
    output.note(&format!(
        "{} of {} completed{} in {}: {}",
        counts.completed,
        counts.lines,
        others.collect::<String>(),
        times::duration(elapsed_ms),
        target.display()
    ));
    if counts.completed < counts.lines {
        output.note("their lines say why; the same command asks for them again");
    }
    if counts.warned > 0 {
        output.note(&format!("{} have `warnings`: their engine did not honour every field", counts.warned));
    }
    Ok(())
}
