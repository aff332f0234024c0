//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    accounts, api_keys, audit, audit_log, backup, bench, cancel, completion, engine_guard, explain, export,
    import, list, listen, man, migrate, model, reload, restore, results, run, serve, status, submit, top,
    users, watch, webhooks,
};
use crate::globals::Globals;

/// The end of the help.
pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    carried out, and something in the outcome is not well: a request that failed or was refused, a breach, a check,
       a file that costs more than there is
  2    the command line, the settings or a file cannot be used
  3    the service refused: the key, too few credits, an unknown identifier, a request or batch that has ended
  4    the service or its store cannot be reached, or cannot serve now
  70   a part of the service failed, or the system starts no more threads (serve, run); start it again
  74   the disk failed a sync, or a file of the store was removed or replaced (serve, run); put the file back where one is
       gone, and start the service again
  130  stopped by Ctrl-C, SIGTERM or SIGQUIT (serve, listen and backup --every: 0)";

/// Asynchronous batch inference: send chat completions now, read the answers within 24 hours.
///
/// One program is the service, its client and its operator's tools. `serve` starts the service; `run` answers a file of prompts
/// with no service running; `submit`, `watch` and `results` are clients of one that runs.
#[derive(Debug, Parser)]
#[command(name = "overnight", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) work: Work,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Work {
    #[command(flatten)]
    Command(Box<Command>),
    /// Guard the command of an engine; for the service, which starts it.
    #[command(hide = true)]
    EngineGuard(engine_guard::Arguments),
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
    /// Read the results of requests or batches, as JSON Lines or as a table.
    Results(results::Arguments),
    /// Cancel a request, or a batch with its requests.
    Cancel(cancel::Arguments),
    /// List requests or batches, newest first.
    List(list::Arguments),
    /// Receive webhooks on this machine, check their signatures and print them.
    Listen(listen::Arguments),
    /// Manage accounts and their credits.
    ///
    /// With or without a running service.
    #[command(subcommand)]
    Account(accounts::Command),
    /// Manage API keys.
    ///
    /// With or without a running service.
    #[command(subcommand)]
    Key(api_keys::Command),
    /// Manage the users of the console.
    ///
    /// With or without a running service.
    #[command(subcommand)]
    User(users::Command),
    /// Manage webhook secrets, events and deliveries.
    ///
    /// With or without a running service.
    #[command(subcommand)]
    Webhook(webhooks::Command),
    /// Manage the models of the Hugging Face Hub on this machine.
    #[command(subcommand)]
    Model(model::Command),
    /// Show the whole service in the terminal, again and again.
    ///
    /// With or without a running service.
    Top(top::Arguments),
    /// Explain why a request waits, and where it stands in the queue.
    ///
    /// With or without a running service.
    Explain(explain::Arguments),
    /// Show who changed what: keys, users, accounts, credits.
    ///
    /// With or without a running service.
    AuditLog(audit_log::Arguments),
    /// Check the invariants of the live database.
    Audit(audit::Arguments),
    /// Let the running service load its settings again.
    Reload(reload::Arguments),
    /// Migrate the database schema, without serving.
    Migrate(migrate::Arguments),
    /// Back up the data folder, online, into a repository of backups.
    ///
    /// With or without a running service.
    Backup(backup::Arguments),
    /// Restore a backup into a new data folder, audited; or list and check backups.
    Restore(restore::Arguments),
    /// Write everything that is stored into a file.
    ///
    /// With or without a running service.
    Export(export::Arguments),
    /// Fill an empty store from such a file, between SQLite and PostgreSQL too.
    Import(import::Arguments),
    /// Write the database of the data folder anew, without free pages, while no service runs.
    ///
    /// The file shrinks, and holds nothing that was deleted.
    Vacuum,
    /// Check this installation, and suggest corrections.
    Doctor,
    /// Measure the service on this machine.
    ///
    /// Starts the program overnight-bench, which measures references in the same run.
    #[command(disable_help_flag = true)]
    Bench(bench::Arguments),
    /// Print the OpenAPI document of the HTTP API.
    Openapi,
    /// Print a completion script for a shell.
    Completion(completion::Arguments),
    /// Print the manual page, or write those of all commands.
    Man(man::Arguments),
}

impl Command {
    /// Whether it opens the data folder, and does not only call a service.
    pub(crate) const fn opens_data_folder(&self) -> bool {
        match self {
            Self::Serve(_)
            | Self::Run(_)
            | Self::Account(_)
            | Self::Key(_)
            | Self::User(_)
            | Self::Webhook(_)
            | Self::Top(_)
            | Self::Explain(_)
            | Self::Audit(_)
            | Self::Reload(_)
            | Self::AuditLog(_)
            | Self::Migrate(_)
            | Self::Backup(_)
            | Self::Restore(_)
            | Self::Export(_)
            | Self::Import(_)
            | Self::Vacuum
            | Self::Doctor => true,
            Self::Submit(_)
            | Self::Status(_)
            | Self::Watch(_)
            | Self::Results(_)
            | Self::Cancel(_)
            | Self::List(_)
            | Self::Listen(_)
            | Self::Model(_)
            | Self::Bench(_)
            | Self::Openapi
            | Self::Completion(_)
            | Self::Man(_) => false,
        }
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
    fn what_only_the_service_starts_is_not_shown() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("doctor") && !help.contains("engine-guard"), "{help}");
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
