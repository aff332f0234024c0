//! What is wrong with the lines of a file, told all at once.

use crate::errors::CliError;

/// How many bad lines are told of, each in a line of its own.
const FAULTS_SHOWN: usize = 20;

/// The bad lines.
#[derive(Debug, Default)]
pub(super) struct Faults {
    shown: Vec<String>,
    total: usize,
}

impl Faults {
    pub(super) fn push(&mut self, number: u64, fault: &str) {
        self.total += 1;
        if self.shown.len() < FAULTS_SHOWN {
            self.shown.push(format!("\n  line {number} {fault}"));
        }
    }

    /// Refuses the file of this name, if there are some; then, `undone` says, nothing was done.
    pub(super) fn check(
        self,
        name: &str,
        undone: &str,
        hint: impl FnOnce() -> String,
    ) -> Result<(), CliError> {
        let lines = match self.total {
            0 => return Ok(()),
            1 => "1 bad line".to_owned(),
            total => format!("{total} bad lines"),
        };
        let more = match self.total - self.shown.len() {
            0 => String::new(),
            more => format!("\n  and {more} more"),
        };
        let message = format!("{name} has {lines}; {undone}{}{more}", self.shown.concat());
        Err(CliError::unusable(message).with_hint(hint()))
    }
}
