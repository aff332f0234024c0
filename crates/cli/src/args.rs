//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand};
use overnight_server::config::{Config, Sources};

use crate::commands::{accounts, api_keys, bench, cancel, list, results, run, serve, status, submit, watch};
use crate::errors::CliError;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    carried out, and something in the outcome is not well: a request that failed or was refused, a breach, a check
  2    the command line, the settings or a file cannot be used
  3    the service refused: the key, an unknown identifier, a request or batch that has ended
  4    the service or its store cannot be reached, or cannot serve now
  130  stopped by Ctrl-C or SIGTERM";

/// Asynchronous batch inference: send chat completions now, read the answers within 24 hours.
#[derive(Debug, Parser)]
#[command(name = "overnight", version, about, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that stand anywhere on the line.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// The file of settings [default: $OVERNIGHT_CONFIG, else overnight.toml if there is one].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder of everything that is kept [default: overnight-data].
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) data_dir: Option<String>,
    /// Where requests and results are stored [default: sqlite, in the data folder].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) database_url: Option<String>,
    /// Where the service is, for commands that call it [default: $OVERNIGHT_URL, else the one on this machine].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Print results as JSON, and errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say nothing beside results and errors.
    #[arg(long, short, global = true, action = ArgAction::SetTrue)]
    pub(crate) quiet: bool,
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the service.
    Serve(serve::Arguments),
    /// Answer a file of prompts: the whole service in one command.
    Run(run::Arguments),
    /// Send a file of prompts as one batch.
    Submit(submit::Arguments),
    /// Show how a request or a batch stands.
    Status(status::Arguments),
    /// Follow a request or a batch to its end.
    Watch(watch::Arguments),
    /// Read the results of a request or a batch, as JSON Lines.
    Results(results::Arguments),
    /// Cancel a request, or a batch with its requests.
    Cancel(cancel::Arguments),
    /// List requests or batches, newest first.
    List(list::Arguments),
    /// Make and see accounts, beside a running service or without one.
    #[command(subcommand)]
    Account(accounts::Command),
    /// Make, see and revoke API keys, beside a running service or without one.
    #[command(subcommand)]
    Key(api_keys::Command),
    /// Recount what must always hold, on the live database.
    Audit,
    /// Look for what is wrong with this installation.
    Doctor,
    /// Measure the service on this machine, beside references in the same run.
    Bench(bench::Arguments),
    /// Print the OpenAPI document of the HTTP API.
    Openapi,
    /// Play a part of a benchmark.
    #[command(hide = true)]
    BenchPeer(bench::PeerArguments),
}

impl Globals {
    /// The settings, with `flags` of the command over those of every command.
    pub(crate) fn config_with(&self, flags: Vec<(String, String)>) -> Result<Config, CliError> {
        let own = [("data_dir", &self.data_dir), ("database_url", &self.database_url)];
        let own = own.into_iter().filter_map(|(path, value)| Some((path.to_owned(), value.clone()?)));
        let flags = own.chain(flags).collect();
        Ok(Config::load(&Sources::of_process(self.config.clone(), flags))?)
    }

    /// The settings.
    pub(crate) fn load_config(&self) -> Result<Config, CliError> {
        self.config_with(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn global_flags_stand_anywhere() {
        for line in [
            "overnight --json --data-dir d account list",
            "overnight account --json list --data-dir d",
            "overnight account list --data-dir d --json",
        ] {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            assert!(cli.globals.json && cli.globals.data_dir.as_deref() == Some("d"), "{line}");
        }
    }
}
