//! Prints a command's result on standard output, and all other messages on standard error.

use std::io::{self, BufWriter, IsTerminal, Write};

use clap::ColorChoice;
use serde::Serialize;
use serde_json::json;

use crate::errors::CliError;
use crate::globals::Globals;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// For machines: one JSON value.
    pub(crate) is_json: bool,
    is_quiet: bool,
    is_coloured: bool,
    is_terminal: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Tone {
    Good,
    /// Worth a look.
    Doubtful,
    Bad,
}

impl Output {
    pub(crate) fn new(globals: &Globals) -> Self {
        let is_terminal = io::stderr().is_terminal();
        let is_coloured = match globals.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            }
        };
        Self { is_json: globals.json, is_quiet: globals.quiet, is_coloured, is_terminal }
    }

    pub(crate) const fn draws_bars(&self) -> bool {
        self.is_terminal && !self.is_quiet
    }

    /// Whether output on standard error may be coloured.
    pub(crate) const fn is_coloured(&self) -> bool {
        self.is_coloured
    }

    pub(crate) fn line(&self, text: &str) -> Result<(), CliError> {
        writeln!(io::stdout().lock(), "{text}").map_err(|error| CliError::stdout(&error))
    }

    pub(crate) fn object(&self, object: &impl Serialize) -> Result<(), CliError> {
        let mut out = BufWriter::new(io::stdout().lock());
        serde_json::to_writer_pretty(&mut out, object).map_err(|error| match error.is_io() {
            true => CliError::stdout(&error.into()),
            false => CliError::unusable(format!("the result cannot be written as JSON: {error}")),
        })?;
        let ended = out.write_all(b"\n").and_then(|()| out.flush());
        ended.map_err(|error| CliError::stdout(&error))
    }

    /// Prints `object` as JSON for machines, else `text`.
    pub(crate) fn either(
        &self,
        object: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        if self.is_json { self.object(object) } else { self.line(&text()) }
    }

    /// Prints a message that `--quiet` suppresses.
    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.say(text);
        }
    }

    /// Prints a message that is always shown.
    pub(crate) fn say(&self, text: &str) {
        // If standard error cannot be written, there is nowhere to report it.
        let _ = writeln!(io::stderr().lock(), "{text}");
    }

    pub(crate) fn error(&self, error: &CliError) {
        if error.message().is_empty() {
            return;
        }
        if self.is_json {
            let body =
                json!({"message": error.message(), "hint": error.hint(), "exit_code": error.exit() as u8});
            return self.say(&json!({ "error": body }).to_string());
        }
        self.say(&format!("{} {}", self.set_off("error:", Tone::Bad), error.message()));
        if let Some(hint) = error.hint() {
            self.say(&format!("{} {hint}", self.set_off("hint:", Tone::Doubtful)));
        }
    }

    /// The word in the colour of its tone, if colours are shown.
    pub(crate) fn set_off(&self, word: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Doubtful => 33,
            Tone::Bad => 31,
        };
        if self.is_coloured { format!("\x1b[1;{code}m{word}\x1b[0m") } else { word.to_owned() }
    }
}
