//! A file of prompts on its way into the service: what has no answer yet is sent, and all of it is grouped. Stopped anywhere, the
//! same command goes on.

use crate::batches::{self, Wanted};
use crate::errors::CliError;
use crate::posting::{Refusal, Sending, post_missing};

impl Sending<'_> {
    /// Sends every line that has no request yet, and puts what was accepted into batches.
    ///
    /// # Errors
    /// What kept lines from being sent, or the user: with how to go on.
    pub(crate) async fn send(&mut self, wanted: &Wanted) -> Result<Vec<Refusal>, CliError> {
        let outcome = self.try_send(wanted).await;
        outcome.map_err(|error| error.with_hint(how_to_go_on()))
    }

    async fn try_send(&mut self, wanted: &Wanted) -> Result<Vec<Refusal>, CliError> {
        let total = self.prompts.lines().len();
        if self.journal.is_resumed() {
            let accepted = self.accepted();
            self.output.note(&format!("going on: {accepted} of {total} lines were sent before"));
            if accepted < total && self.journal.is_key_forgotten() {
                self.output.note("that was more than 48 hours ago: the last lines of then may be sent twice");
            }
        }
        let refusals = post_missing(self).await?;
        if self.interrupt.is_raised() {
            return Err(CliError::interrupted(format!(
                "stopped: {} of {total} lines are sent",
                self.accepted()
            )));
        }
        batches::group(self.client, self.journal, wanted).await?;
        Ok(refusals)
    }

    /// How many lines have a request.
    pub(crate) fn accepted(&self) -> usize {
        self.journal.asked().iter().flatten().count()
    }
}

/// That the same command goes on, and what that command is.
pub(crate) fn how_to_go_on() -> String {
    let words = std::env::args_os().enumerate().map(|(place, word)| match place {
        0 => "overnight".to_owned(),
        _ => quoted(&word.to_string_lossy()),
    });
    format!("the same command goes on from here: {}", words.collect::<Vec<_>>().join(" "))
}

/// The word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_take_it_apart() {
        for (word, expected) in [
            ("prompts.jsonl", "prompts.jsonl"),
            ("--url=http://127.0.0.1:80", "--url=http://127.0.0.1:80"),
            ("my file", "'my file'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
