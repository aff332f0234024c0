//! `overnight run`: the whole service in one command. It sends a file of prompts, waits, and writes the answers.

mod answers;
mod collecting;
mod host;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use overnight_app::Services;
use overnight_client::Client;
use overnight_config::Config;
use overnight_hub::HubName;
use overnight_store::prepare_folder;
use overnight_tables::{Column, Format, Kind};
use serde_json::json;

use self::collecting::{Collecting, Counts};
use self::host::{Host, hindrances};
use crate::batches::Wanted;
use crate::commands::model;
use crate::errors::{CliError, Exit};
use crate::files::beside;
use crate::fixed_values::kinds;
use crate::globals::Globals;
use crate::interrupt::Interrupt;
use crate::journal::Journals;
use crate::output::Output;
use crate::paths::path;
use crate::prompts::{Asking, Input, Source, TableArguments};
use crate::sampling::{CostArguments, check_cost};
use crate::sending::{Chosen, Submission, how_to_go_on, tell_of_batches};
use crate::serve_file::url_of_running;
use crate::target::Target;
use crate::waiting::{self, Waited};
use crate::{served_models, tabling, times};

#[derive(Debug, Args)]
#[command(after_help = "\
Writes one line for each line of FILE, in the same order. What was asked is kept in RESULTS.run: stopped in any way,
the same command goes on, and run again later it asks only for lines that are new, changed, or failed. Delete that file
to ask for everything anew.

Where `overnight serve` is running over the same data folder, it does the work; otherwise this command is the service,
and logs to run.log in the data folder.")]
pub(crate) struct Arguments {
    /// One request a line: a Create Request body, a line of an OpenAI batch file, or a chat body. Or a table, with --prompt.
    /// `-` is standard input.
    #[arg(value_name = "FILE", value_parser = path())]
    file: PathBuf,
    /// Where to write the answers, once there are all of them; `-` is standard output [default: FILE.results.jsonl; standard
    /// output if FILE is a pipe].
    #[arg(long, short, value_name = "RESULTS", value_parser = path())]
    output: Option<PathBuf>,
    /// What to write [default: by the name of RESULTS, else jsonl].
    #[arg(long, value_name = "FORMAT", value_parser = kinds())]
    output_format: Option<Kind>,
    /// In CSV, put an apostrophe before text that begins with =, +, -, @, a tab or a line break, which spreadsheets would compute;
    /// numbers stay.
    #[arg(long)]
    escape_formulas: bool,
    /// Ask this model, whatever model the lines name: one of the settings, or hf:OWNER/REPO[:FILE or quantisation] of the Hugging
    /// Face Hub, which is downloaded and runs on this machine.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    #[command(flatten)]
    tables: TableArguments,
    #[command(flatten)]
    costs: CostArguments,
}

impl Arguments {
    fn target(&self, output: &Output) -> Result<Target, CliError> {
        if let Some(path) = &self.output {
            return Target::of(Some(path), self.output_format);
        }
        // The name of a pipe has no folder for an output file.
        if !self.file.is_file() {
            return Target::of(None, self.output_format);
        }
        let kind = self.output_format.unwrap_or(Kind::JSON_LINES);
        let path = beside(&self.file, &format!(".results.{kind}"));
        output.note(&format!("the answers will be in {}; -o names another file", path.display()));
        Target::of(Some(&path), Some(kind))
    }
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let mut config = globals.load_config()?;
    let hub_model =
        arguments.model.as_deref().filter(|model| HubName::is_meant(model)).map(model::parse).transpose()?;
    let model = arguments.model.as_deref().map(model::name_of).transpose()?;
    let target = arguments.target(output)?.escaping_formulas(arguments.escape_formulas)?;
    if target.path().is_none() && output.is_json {
        return Err(CliError::unusable("--json is for standard output, and so is `-o -`"));
    }
    let asking = Asking::of(&arguments.tables, model.as_deref())?;
    target.check(&arguments.file)?;
    let source = Source::open(&arguments.file, arguments.tables.input_format, target.folder())?;
    let state = target.path().map_or_else(|| source.state(".run"), |path| beside(path, ".run"));
    let input = Input::check(source, asking, model.clone(), arguments.tables.batch_lines)?;
    let columns = columns_of(&input, &target, &arguments.tables.prefix)?;
    prepare_folder(&config.data_dir)?;
    if let Some(name) = &hub_model {
        let is_served = config.models.iter().any(|known| known.name == name.model_name());
        config = config.with_hub_model(name);
        if !is_served && url_of_running(&config.data_dir).is_none() {
            model::fetch(name, output).await?;
        }
    }
    let mut journals = Journals::open(&state, &name_of(&config)?, &input)?;
    let interrupt = Interrupt::listen_with_terminal()?;
    let begun_at = times::now();
    let host = Host::find_or_start(config).await?;
    let services = host.services(globals).await;
    let (costs, interrupt) = (&arguments.costs, &interrupt);
    let job = Job { input: &input, target: &target, columns, costs, output, interrupt, services };
    let outcome = match host.client() {
        Ok(client) => tokio::select! {
            outcome = job.carry_out(&client, model.as_deref(), &mut journals) => outcome,
            trouble = host.trouble(model.as_deref()) => Err(trouble),
            failure = host.failed() => Err(CliError::broken(&failure)),
        },
        Err(error) => Err(error),
    };
    drop(job);
    host.shutdown().await;
    let counts = outcome?;
    report(&counts, &target, times::now() - begun_at, output)?;
    Ok(if counts.completed == counts.lines { Exit::Done } else { Exit::Failed })
}

/// The columns of answers, if a table is written.
fn columns_of(input: &Input, target: &Target, prefix: &str) -> Result<Option<Vec<Column>>, CliError> {
    let schema = input.asking().and_then(Asking::schema);
    match input.table() {
        Some((_, _, own)) => tabling::columns(prefix, schema, false, |name| own.has(name)).map(Some),
        None if target.kind.format != Format::JsonLines => {
            tabling::columns(prefix, None, true, |_| false).map(Some)
        }
        None => Ok(None),
    }
}

/// The work, independent of who serves.
struct Job<'a> {
    input: &'a Input,
    target: &'a Target,
    /// The columns of answers, if a table is written.
    columns: Option<Vec<Column>>,
    costs: &'a CostArguments,
    output: &'a Output,
    interrupt: &'a Interrupt,
    /// Source of the reasons why there is no progress.
    services: Option<Services>,
}

impl Job<'_> {
    async fn carry_out(
        &self,
        client: &Client,
        model: Option<&str>,
        journals: &mut Journals,
    ) -> Result<Counts, CliError> {
        if let Some(model) = model {
            let hint = "add a [[models]] section with this name and an engine to the settings, which a running service reads when it \
                        starts; or name a model of the Hub: hf:OWNER/REPO";
            served_models::check(client, model).await.map_err(|error| error.with_hint(hint))?;
        }
        let wanted = Wanted { name: self.input.source().batch_name(), webhook: None };
        let (input, output, interrupt) = (self.input, self.output, self.interrupt);
        let mut submission = Submission { client, input, journals, output, interrupt, wanted: &wanted };
        check_cost(&mut submission, self.costs).await?;
        let sent = submission.send(Chosen::All).await?;
        tell_of_batches(output, &sent.batches);
        let reasons = async || hindrances(self.services.as_ref()).await;
        let waited = waiting::for_batches(client, &sent.batches, output, interrupt, reasons).await;
        if let Waited::Stopped = waited.map_err(|error| error.with_hint(how_to_go_on()))? {
            return Err(CliError::interrupted("stopped: every line is sent, and not every answer is there")
                .with_hint(how_to_go_on()));
        }
        let collecting =
            Collecting { client, input, target: self.target, columns: self.columns.as_deref(), output };
        let counts = collecting.collect(journals, &sent.refusals).await;
        counts.map_err(|error| error.with_hint(how_to_go_on()))
    }
}

/// Identifies the data folder.
fn name_of(config: &Config) -> Result<String, CliError> {
    let path =
        fs::canonicalize(&config.data_dir).map_err(|error| CliError::file(&config.data_dir, &error))?;
    Ok(path.display().to_string())
}

fn report(counts: &Counts, target: &Target, elapsed_ms: i64, output: &Output) -> Result<(), CliError> {
    if output.is_json {
        return output.object(&json!({
            "output": target.name(),
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
        target.name()
    ));
    if counts.completed < counts.lines {
        output.note("their lines say why; the same command asks for them again");
    }
    if counts.warned > 0 {
        output.note(&format!(
            "{} have `warnings`: their engine ignored a field or answered oddly",
            counts.warned
        ));
    }
    Ok(())
}
