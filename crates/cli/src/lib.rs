//! The program `overnight`: serve, run, submit, watch, results and the operator commands.
//!
//! A library, so that it is compiled in parallel with the server. Every command is a file in `commands/`. Standard output carries only the
//! result; all other messages go to standard error.

// For their features only: tests of the libraries and the embedded engine need them, so dependencies are compiled once for these and the
// programs.
use indexmap as _;
use strum as _;

mod args;
mod batches;
mod command_line;
mod commands;
mod connection;
mod dispatch;
mod errors;
mod examples;
mod files;
mod fixed_values;
mod globals;
mod interrupt;
mod journal;
mod kept;
mod last_backup;
mod lists;
mod logging;
mod neighbours;
mod output;
mod pages;
mod paths;
mod posting;
mod progress;
mod prompts;
mod quoting;
mod reasons;
mod sampling;
mod schema;
mod sending;
mod serve_file;
mod served_models;
mod service_manager;
mod settings_file;
mod shell;
mod spool;
mod subjects;
mod tabling;
mod taken_port;
mod target;
mod times;
mod umask;
mod waiting;

use std::fmt::Display;
use std::panic;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::args::{Cli, Work};
use crate::commands::engine_guard;
use crate::errors::CliError;
use crate::output::Output;

/// The time limit for background work after the command has ended.
const BACKGROUND_MAX: Duration = Duration::from_secs(1);

/// Carries out the command line of this process.
pub fn main() -> ExitCode {
    let Cli { globals, work } = command_line::read();
    let command = match work {
        Work::Command(command) => *command,
        Work::EngineGuard(arguments) => return engine_guard::run(&arguments),
    };
    if command.opens_data_folder() {
        umask::make_private();
    }
    let output = Output::new(&globals);
    let outcome = start_runtime().and_then(|runtime| {
        let outcome = runtime.block_on(dispatch::run(command, &globals, &output));
        runtime.shutdown_timeout(BACKGROUND_MAX);
        outcome
    });
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            output.error(&error);
            error.exit().into()
        }
    }
}

/// The runtime panics if the system refuses its first thread.
fn start_runtime() -> Result<Runtime, CliError> {
    let failed = |why: &dyn Display| CliError::no_threads(format!("no threads can be started: {why}"));
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let built = panic::catch_unwind(|| Builder::new_multi_thread().enable_all().build());
    panic::set_hook(hook);
    let built = built.map_err(|_| failed(&"the system refuses them"))?;
    built.map_err(|error| failed(&error))
}
