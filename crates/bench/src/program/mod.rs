//! The command line of the benchmarks.

mod arguments;
mod sweep;

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;
use thiserror::Error;

pub(crate) use self::arguments::{Arguments, run};

const ROUNDS: usize = 5;

/// A failure, with the exit codes of `overnight`.
#[derive(Debug, Error)]
#[error("{message}")]
pub(crate) struct Failure {
    message: String,
    exit: u8,
}

impl Failure {
    /// The command line or a file cannot be used.
    pub(crate) fn unusable(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: 2 }
    }

    /// A goal was missed.
    fn missed(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: 1 }
    }

    /// A process did not start or ended early.
    fn unavailable(message: impl Display) -> Self {
        Self { message: message.to_string(), exit: 4 }
    }
}

impl From<Failure> for ExitCode {
    fn from(failure: Failure) -> Self {
        Self::from(failure.exit)
    }
}

pub(crate) fn say(text: &str) {
    // If standard error cannot be written, there is nowhere to report it.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[derive(Debug, Clone, Copy)]
struct Output {
    is_json: bool,
}

impl Output {
    fn print<T: Serialize + Display>(self, report: &T) -> Result<(), Failure> {
        let text = if self.is_json {
            serde_json::to_string_pretty(report).map_err(Failure::unusable)?
        } else {
            report.to_string().trim_end().to_owned()
        };
        writeln!(io::stdout().lock(), "{text}")
            .map_err(|error| Failure::unusable(format!("standard output: {error}")))
    }
}
