//! A child's output, logged line by line by the service.

use std::sync::{Arc, Mutex, PoisonError};

use overnight_outgoing::transport::printable;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Bytes of a line; the rest is dropped.
const LINE_BYTES_MAX: usize = 8 << 10;

/// The last line of a process, to explain its end.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<Option<String>>>);

impl LastWords {
    fn set(&self, words: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words.to_owned());
    }

    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Logs every line until the child closes its output.
pub(super) async fn log(mut output: impl AsyncBufRead + Unpin, engine: &str, last_words: &LastWords) {
    while let Some(line) = next_line(&mut output, LINE_BYTES_MAX).await {
        let (level, words) = split_level(line.trim());
        if words.is_empty() {
            continue;
        }
        let words = printable(words);
        last_words.set(&words);
        say(level, engine, &words);
    }
}

fn say(level: Level, engine: &str, words: &str) {
    match level {
        Level::Error => tracing::error!(target: "engine", engine, "{words}"),
        Level::Warn => tracing::warn!(target: "engine", engine, "{words}"),
        Level::Info => tracing::info!(target: "engine", engine, "{words}"),
    }
}

/// The next line without its end, cut to `bytes_max`; `None` at the end of the output.
pub(super) async fn next_line(output: &mut (impl AsyncBufRead + Unpin), bytes_max: usize) -> Option<String> {
    let mut line = Vec::new();
    let mut has_begun = false;
    loop {
        let chunk = output.fill_buf().await.unwrap_or_default();
        if chunk.is_empty() {
            return has_begun.then(|| String::from_utf8_lossy(&line).into_owned());
        }
        has_begun = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        line.extend_from_slice(&part[..part.len().min(bytes_max - line.len())]);
        let consumed = end.map_or(chunk.len(), |end| end + 1);
        output.consume(consumed);
        if end.is_some() {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Error,
    Warn,
    Info,
}

/// Removes the time and the level from a line that has them: `2026-11-21T02:00:00Z  WARN words`.
fn split_level(line: &str) -> (Level, &str) {
    let split = || {
        let (time, rest) = line.split_once(' ')?;
        let (level, words) = rest.trim_start().split_once(' ')?;
        let level = match level {
            "ERROR" => Level::Error,
            "WARN" => Level::Warn,
            // The child writes finer levels only if its own environment asks for them.
            "INFO" | "DEBUG" | "TRACE" => Level::Info,
            _ => return None,
        };
        time.starts_with(|first: char| first.is_ascii_digit()).then(|| (level, words.trim()))
    };
    split().unwrap_or((Level::Info, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_taken_off_where_there_is_one() {
        for (line, expected) in [
            ("2026-11-21T02:00:00.1Z ERROR engine: no model", (Level::Error, "engine: no model")),
            ("2026-11-21T02:00:00.1Z  WARN slow", (Level::Warn, "slow")),
            ("llama: ERROR in words", (Level::Info, "llama: ERROR in words")),
            ("", (Level::Info, "")),
        ] {
            assert_eq!(split_level(line), expected, "{line}");
        }
    }

    #[tokio::test]
    async fn lines_are_cut_and_never_lost() {
        let mut output: &[u8] = b"one\r\n\nfar too long a line\nrest";
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut output, 7).await {
            lines.push(line);
        }
        assert_eq!(lines, ["one\r", "", "far too", "rest"]);
    }
}
