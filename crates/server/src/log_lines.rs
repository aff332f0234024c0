//! The one way in which log lines are written. A line that cannot be written is dropped and counted, so that no code fails because
//! it logs.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines dropped since the start of the process, also those from before the recorder of metrics was installed.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// A writer that never fails. One call of `write` is one line.
#[derive(Debug)]
pub struct LogLines<W>(pub W);

impl<W: Write> Write for LogLines<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.0.write_all(line).is_err() {
            let dropped = DROPPED.fetch_add(1, Ordering::Relaxed) + 1;
            metrics::counter!("overnight_log_lines_dropped_total").absolute(dropped);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FullDisk;

    impl Write for FullDisk {
        fn write(&mut self, _line: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_line_that_cannot_be_written_is_dropped_and_counted() {
        crate::telemetry::install();
        let before = DROPPED.load(Ordering::Relaxed);
        LogLines(FullDisk).write_all(b"a line\n").expect("a writer that never fails");
        LogLines(FullDisk).flush().expect("a writer that never fails");
        let dropped = DROPPED.load(Ordering::Relaxed);
        assert!(dropped > before);
        let page = crate::telemetry::render();
        let shown = page.lines().find_map(|line| line.strip_prefix("overnight_log_lines_dropped_total "));
        assert!(
            shown.is_some_and(|shown| shown.parse::<u64>().is_ok_and(|shown| shown >= dropped)),
            "{page}"
        );
        let mut kept = Vec::new();
        LogLines(&mut kept).write_all(b"a line\n").expect("a writer that never fails");
        assert_eq!(kept, b"a line\n");
    }
}
