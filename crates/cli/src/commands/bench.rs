//! `overnight bench`: starts the program overnight-bench, which is in the same folder.

use std::ffi::OsString;
use std::io;
use std::process::Command;

use clap::Args;
use overnight_base::private_files::folder_of;

use crate::errors::{CliError, Exit};
use crate::globals::Globals;

const PROGRAM_NAME: &str = "overnight-bench";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to measure, and its options: `overnight bench --help` lists them.
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Measures next to the data folder, which is on the service's disk, unless `--folder` names another.
pub(crate) fn run(arguments: Arguments, globals: &Globals) -> Result<Exit, CliError> {
    let data_dir = globals.load_config()?.data_dir;
    let own = std::env::current_exe().map_err(CliError::unusable)?;
    let path = own.with_file_name(PROGRAM_NAME);
    let mut command = Command::new(&path);
    command.arg("--folder").arg(folder_of(&data_dir));
    command.args(globals.json.then_some("--json")).args(globals.quiet.then_some("--quiet"));
    command.args(arguments.arguments);
    let status = command.status().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => CliError::unusable(format!("the program {} is missing", path.display()))
            .with_hint("build it with `cargo build --release -p overnight-bench`, or run `./overnight bench` from a clone"),
        _ => CliError::file(&path, &error),
    })?;
    // The program has printed the fault.
    Ok(match status.code() {
        Some(0) => Exit::Done,
        Some(2) => Exit::Unusable,
        _ => Exit::Unavailable,
    })
}
