//! Collects the faults of a file's lines, and reports them together.

use crate::errors::CliError;

/// The limit of bad lines in the message, each in its own line.
const FAULTS_SHOWN: usize = 20;

#[derive(Debug, Default)]
pub(super) struct Faults {
    shown: Vec<String>,
    total: usize,
}

impl Faults {
    pub(super) fn push(&mut self, number: u64, fault: &str) {
        self.total += 1;
        if self.shown.len() < FAULTS_SHOWN {
            self.shown.push(format!("\nline {number} {fault}"));
        }
    }

    /// Fails for the file of this name, if there are faults; `undone` says that nothing was done.
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
            more => format!("\nand {more} more"),
        };
        let message = format!("{name} has {lines}; {undone}{}{more}", self.shown.concat());
        Err(CliError::unusable(message).with_hint(hint()))
    }
}
