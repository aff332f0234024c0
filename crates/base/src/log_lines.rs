//! The only writer of log lines. A line that cannot be written is dropped and counted, so that logging never fails or blocks.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use overnight_domain::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// Lines dropped since the start of the process, including those before the metrics recorder was installed.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Whether the last line was dropped because the reader was stalled. Held while a line is written, so that no other thread uses the room
/// that this one found.
static IS_STALLED: Mutex<bool> = Mutex::new(false);

/// A pipe that has room takes this much in one write (`PIPE_BUF`).
const PART_BYTES: usize = 4_096;

/// How long a write waits for a reader that took the last line.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
const NO_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Between two lines that a [`Throttle`] passes.
const EVERY_MS: i64 = 60_000;

/// A writer that never fails, and does not wait for a stalled reader. One call of `write` is one line, whatever others wrote into it.
#[derive(Debug)]
pub struct LogLines<W> {
    pub writer: W,
    /// Whether the log colours its lines.
    pub is_coloured: bool,
}

impl<W: Write + AsFd> LogLines<W> {
    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        let mut is_stalled = IS_STALLED.lock().unwrap_or_else(PoisonError::into_inner);
        for part in line.chunks(PART_BYTES) {
            let patience = if *is_stalled { NO_PATIENCE } else { PATIENCE };
            let mut writer = [PollFd::new(&self.writer, PollFlags::OUT)];
            *is_stalled = retry_on_intr(|| poll(&mut writer, Some(&patience)))? == 0;
            if *is_stalled {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.writer.write_all(part)?;
        }
        Ok(())
    }
}

impl<W: Write + AsFd> Write for LogLines<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let safe = safe_line(&String::from_utf8_lossy(line), self.is_coloured);
        if self.write_line(safe.as_bytes()).is_err() {
            let dropped = DROPPED.fetch_add(1, Ordering::Relaxed) + 1;
            metrics::counter!("overnight_log_lines_dropped_total").absolute(dropped);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text on one line, without characters that mislead.
fn safe_line(text: &str, is_coloured: bool) -> String {
    let line = text.strip_suffix('\n').unwrap_or(text);
    text::safe_lines(line, is_coloured).replace('\n', "\\n") + "\n"
}

/// Limits the rate of a log line, and counts suppressed lines.
pub struct Throttle {
    next_at: AtomicI64,
    suppressed: AtomicU64,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { next_at: AtomicI64::new(i64::MIN), suppressed: AtomicU64::new(0) }
    }
}

impl Throttle {
    /// The number of suppressed lines, if a line may be written now.
    pub fn pass(&self, now: i64) -> Option<u64> {
        let next_at = self.next_at.load(Ordering::Relaxed);
        // A clock that was set back does not silence the log for long.
        let is_due = now >= next_at || next_at > now.saturating_add(EVERY_MS);
        let next = now.saturating_add(EVERY_MS);
        if is_due
            && self.next_at.compare_exchange(next_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            return Some(self.suppressed.swap(0, Ordering::Relaxed));
        }
        self.suppressed.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    #[test]
    fn one_line_a_minute_passes_and_tells_how_many_did_not() {
        let throttle = Throttle::default();
        let passed = [0, 1, 59_999, 60_000, 60_001, 200_000, -1].map(|now| throttle.pass(now));
        assert_eq!(passed, [Some(0), None, None, Some(2), None, Some(1), Some(0)]);
    }

    #[test]
    fn lines_are_what_they_seem_to_be() {
        let hostile = "\u{1b}[32mINFO\u{1b}[0m why=a\u{202e}b\u{1b}[2J\n2026 ERROR forged\n";
        let coloured = "\u{1b}[32mINFO\u{1b}[0m why=a\\u202eb\\u001b[2J\\n2026 ERROR forged\n";
        assert_eq!(safe_line(hostile, true), coloured);
        assert_eq!(safe_line(hostile, false), coloured.replace('\u{1b}', "\\u001b"));
        let (mut reader, writer) = io::pipe().expect("a pipe");
        LogLines { writer, is_coloured: false }.write_all("a\u{2028}b\n".as_bytes()).expect("room");
        let mut written = String::new();
        reader.read_to_string(&mut written).expect("text");
        assert_eq!(written, "a\\u2028b\n");
    }

    #[test]
    fn a_reader_that_has_stopped_is_not_waited_for() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut log = LogLines { writer: &writer, is_coloured: false };
        log.write_line(b"a line\n").expect("room");
        // 64 KiB fit into a pipe.
        log.write_line(&[b'x'; 100_000]).expect_err("a full pipe");
        log.write_line(b"lost\n").expect_err("a full pipe");
        let mut kept = vec![0; 16 * PART_BYTES];
        let length = reader.read(&mut kept).expect("what fitted");
        assert!(kept[..length].starts_with(b"a line\nxxx"));
        log.write_line(b"again\n").expect("room");
        drop(reader);
        log.write_line(b"lost\n").expect_err("no reader");
    }

    #[test]
    fn a_line_that_cannot_be_written_is_dropped_and_counted() {
        crate::telemetry::install();
        let before = DROPPED.load(Ordering::Relaxed);
        let (_, writer) = io::pipe().expect("a pipe");
        LogLines { writer, is_coloured: false }.write_all(b"a line\n").expect("a writer that never fails");
        let dropped = DROPPED.load(Ordering::Relaxed);
        assert!(dropped > before);
        let page = crate::telemetry::render();
        let shown = page.lines().find_map(|line| line.strip_prefix("overnight_log_lines_dropped_total "));
        assert!(
            shown.is_some_and(|shown| shown.parse::<u64>().is_ok_and(|shown| shown >= dropped)),
            "{page}"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_line_for_a_full_disk_is_dropped() {
        let full = File::options().write(true).open("/dev/full").expect("Linux has it");
        LogLines { writer: full, is_coloured: false }.write_line(b"a line\n").expect_err("a full disk");
    }
}
