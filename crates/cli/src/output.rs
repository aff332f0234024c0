//! Prints a command's result on standard output, and all other messages on standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use clap::ColorChoice;
use overnight_domain::text;
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
        writeln!(io::stdout().lock(), "{}", self.safe(text)).map_err(|error| CliError::stdout(&error))
    }

    pub(crate) fn object(&self, object: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(object)
            .map_err(|error| CliError::unusable(format!("the result cannot be written as JSON: {error}")))?;
        self.line(&text)
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
        let _ = writeln!(io::stderr().lock(), "{}", self.safe(text));
    }

    /// The one place where text becomes safe for a terminal.
    fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        text::safe_lines(text, self.is_coloured)
    }

    pub(crate) fn error(&self, error: &CliError) {
        if !error.message().is_empty() {
            self.say(&self.describe(error));
        }
    }

    fn describe(&self, error: &CliError) -> String {
        if self.is_json {
            let body =
                json!({"message": error.message(), "hint": error.hint(), "exit_code": error.exit() as u8});
            return json!({ "error": body }).to_string();
        }
        // A message with words of others, such as a server's, may have several lines: none looks like one of ours.
        let message = error.message().replace('\n', "\n  ");
        let mut text = format!("{} {message}", self.set_off("error:", Tone::Bad));
        if let Some(hint) = error.hint() {
            text.push_str(&format!("\n{} {hint}", self.set_off("hint:", Tone::Doubtful)));
        }
        text
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn errors_with_words_of_others_forge_no_line_and_move_no_cursor() {
        let plain = Output { is_json: false, is_quiet: false, is_coloured: false, is_terminal: false };
        let words = "the server says: \u{1b}[2Jno\nhint: forged\u{202e}";
        let error = CliError::unavailable(words).with_hint("ours");
        let expected = "error: the server says: \\u001b[2Jno\n  hint: forged\\u202e\nhint: ours";
        assert_eq!(plain.safe(&plain.describe(&error)), expected);
        let coloured = Output { is_coloured: true, ..plain };
        let shown = coloured.describe(&error);
        let shown = coloured.safe(&shown);
        assert!(shown.starts_with("\u{1b}[1;31merror:\u{1b}[0m the server says: \\u001b[2J"), "{shown}");
        let json = Output { is_json: true, ..plain };
        let told: Value = serde_json::from_str(&json.safe(&json.describe(&error))).expect("JSON");
        assert_eq!(told["error"]["message"], words);
    }
}
