//! `overnight engine-guard`: the parent of an engine's command, which the service starts.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Args;
use overnight_engine_clients::run_guard;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How long the command may take to end after SIGTERM; then it is killed.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(i64).range(0..))]
    stop_timeout_ms: i64,
    /// The program and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Guards the command to its end. Must be called before other threads or children exist.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    run_guard(&arguments.command, arguments.stop_timeout_ms).into()
}
