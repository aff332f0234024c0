//! From the command line to the command.

use crate::args::{Cli, Command};
use crate::commands::{
    accounts, api_keys, audit, bench, cancel, doctor, export, import, list, listen, migrate, openapi,
    results, run, serve, status, submit, users, watch, webhooks,
};
use crate::errors::{CliError, Exit};
use crate::output::Output;

/// Carries out the command line.
pub(crate) async fn run(cli: Cli, output: &Output) -> Result<Exit, CliError> {
    let globals = &cli.globals;
    match cli.command {
        Command::Serve(arguments) => serve::run(arguments, globals, output).await,
        Command::Run(arguments) => run::run(arguments, globals, output).await,
        Command::Submit(arguments) => submit::run(arguments, globals, output).await,
        Command::Status(arguments) => status::run(arguments, globals, output).await,
        Command::Watch(arguments) => watch::run(arguments, globals, output).await,
        Command::Results(arguments) => results::run(arguments, globals, output).await,
        Command::Cancel(arguments) => cancel::run(arguments, globals, output).await,
        Command::List(arguments) => list::run(arguments, globals, output).await,
        Command::Listen(arguments) => listen::run(arguments, output).await,
        Command::Account(command) => accounts::run(command, globals, output).await,
        Command::Key(command) => api_keys::run(command, globals, output).await,
        Command::User(command) => users::run(command, globals, output).await,
        Command::Webhook(command) => webhooks::run(command, globals, output).await,
        Command::Audit => audit::run(globals, output).await,
        Command::Migrate(arguments) => migrate::run(arguments, globals, output).await,
        Command::Export(arguments) => export::run(arguments, globals, output).await,
        Command::Import(arguments) => import::run(arguments, globals, output).await,
        Command::Doctor => doctor::run(globals, output).await,
        Command::Bench(arguments) => bench::run(arguments, globals, output).await,
        Command::Openapi => openapi::run(output),
        Command::BenchPeer(arguments) => bench::run_peer(arguments).await,
    }
}
