//! `overnight completion`: scripts that complete command lines in a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::errors::{CliError, Exit};
use crate::output::Output;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, command: &mut Command, output: &Output) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "overnight", &mut script);
    output.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(Exit::Done)
}
