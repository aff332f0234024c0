//! From the command line to the command.

use std::pin::Pin;

use crate::args::Command;
use crate::command_line::shown_command;
use crate::commands::{
    accounts, api_keys, audit, audit_log, backup, bench, cancel, completion, doctor, explain, export, import,
    list, listen, man, migrate, model, openapi, reload, restore, results, run, serve, status, submit, top,
    users, vacuum, watch, webhooks,
};
use crate::connection;
use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;

pub(crate) async fn run(command: Command, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let calls_a_service = !command.opens_data_folder();
    // Boxed, so that no command is compiled as a part of this function.
    let work: Pin<Box<dyn Future<Output = Result<Exit, CliError>> + '_>> = match command {
        Command::Serve(arguments) => Box::pin(serve::run(arguments, globals, output)),
        Command::Run(arguments) => Box::pin(run::run(arguments, globals, output)),
        Command::Submit(arguments) => Box::pin(submit::run(arguments, globals, output)),
        Command::Status(arguments) => Box::pin(status::run(arguments, globals, output)),
        Command::Watch(arguments) => Box::pin(watch::run(arguments, globals, output)),
        Command::Results(arguments) => Box::pin(results::run(arguments, globals, output)),
        Command::Cancel(arguments) => Box::pin(cancel::run(arguments, globals, output)),
        Command::List(arguments) => Box::pin(list::run(arguments, globals, output)),
        Command::Listen(arguments) => Box::pin(listen::run(arguments, output)),
        Command::Account(command) => Box::pin(accounts::run(command, globals, output)),
        Command::Key(command) => Box::pin(api_keys::run(command, globals, output)),
        Command::User(command) => Box::pin(users::run(command, globals, output)),
        Command::Webhook(command) => Box::pin(webhooks::run(command, globals, output)),
        Command::Model(command) => Box::pin(model::run(command, output)),
        Command::Top(arguments) => Box::pin(top::run(arguments, globals, output)),
        Command::Explain(arguments) => Box::pin(explain::run(arguments, globals, output)),
        Command::AuditLog(arguments) => Box::pin(audit_log::run(arguments, globals, output)),
        Command::Audit(arguments) => Box::pin(audit::run(arguments, globals, output)),
        Command::Reload(_) => Box::pin(reload::run(globals, output)),
        Command::Migrate(arguments) => Box::pin(migrate::run(arguments, globals, output)),
        Command::Backup(arguments) => Box::pin(backup::run(arguments, globals, output)),
        Command::Restore(arguments) => Box::pin(restore::run(arguments, globals, output)),
        Command::Export(arguments) => Box::pin(export::run(arguments, globals, output)),
        Command::Import(arguments) => Box::pin(import::run(arguments, globals, output)),
        Command::Vacuum => Box::pin(vacuum::run(globals, output)),
        Command::Doctor => Box::pin(doctor::run(globals, output)),
        Command::Bench(arguments) => return bench::run(arguments, globals),
        Command::Openapi => return openapi::run(output),
        Command::Completion(arguments) => return completion::run(&arguments, &mut shown_command(), output),
        Command::Man(arguments) => return man::run(&arguments, shown_command(), output),
    };
    let outcome = work.await;
    if calls_a_service { outcome.map_err(|error| connection::explain(error, globals)) } else { outcome }
}
