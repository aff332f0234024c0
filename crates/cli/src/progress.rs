//! Progress: a bar on a terminal, otherwise a plain line now and then.

use std::fmt::Write;
use std::time::Duration;

use console::Term;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use overnight_domain::text;

use crate::output::Output;
use crate::times;

const TICK: Duration = Duration::from_millis(200);
/// The minimum interval of plain lines without a milestone,
const CALM_MS: i64 = 5_000;
/// and of plain lines in general.
const LEAST_MS: i64 = 1_000;

/// The width of "downloading 1,000,000 of 1,000,000, 12345.6/s, 59m left", apart from the bar and its frame, with some to spare.
const COLUMNS_BESIDE: usize = 62;
const BAR_COLUMNS_MIN: usize = 8;
const BAR_COLUMNS_MAX: usize = 30;
/// The minimum width that has room for the time left,
const COLUMNS_WITH_TIME: usize = 58;
/// and for the rate.
const COLUMNS_WITH_RATE: usize = 46;

const RATE_SHOWN_MAX: f64 = 99_999.0;

/// The progress of one stage. Dropping it removes the bar.
pub(crate) struct Progress {
    output: Output,
    bar: Option<ProgressBar>,
    plain: Plain,
}

impl Progress {
    /// Begins a stage with `done` of `total` completed; `doing` is its name.
    pub(crate) fn begin(output: &Output, doing: &'static str, total: u64, done: u64) -> Self {
        let bar = output.draws_bars().then(|| draw_bar(output, doing, total, done));
        Self { output: *output, bar, plain: Plain::new(doing, total, done, times::now()) }
    }

    /// Updates the number completed; `beside` is an additional text, or empty.
    pub(crate) fn set(&mut self, done: u64, beside: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text::escaped(beside).into_owned());
            bar.set_position(done);
        } else if let Some(line) = self.plain.line(done, beside, times::now()) {
            self.output.note(&line);
        }
    }

    pub(crate) fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.output.note(text)),
            None => self.output.note(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn draw_bar(output: &Output, doing: &'static str, total: u64, done: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    let columns = usize::from(Term::stderr().size().1);
    style_bar(&bar, columns, output.is_coloured());
    bar.set_prefix(doing);
    bar.set_position(done);
    bar.reset_eta();
    bar.enable_steady_tick(TICK);
    bar
}

/// Fits the line to the width: a narrow terminal gets a short bar or none, then loses the time left, then the rate. The additional text is
/// cut at the end of the line.
fn style_bar(bar: &ProgressBar, columns: usize, is_coloured: bool) {
    let colour = if is_coloured { ".cyan" } else { "" };
    let drawn = match columns.saturating_sub(COLUMNS_BESIDE).min(BAR_COLUMNS_MAX) {
        width @ BAR_COLUMNS_MIN.. => format!(" [{{bar:{width}{colour}}}]"),
        _ => String::new(),
    };
    let rate = if columns >= COLUMNS_WITH_RATE { "{rate}" } else { "" };
    let left = if columns >= COLUMNS_WITH_TIME { "{left}" } else { "" };
    let template = format!("{{prefix}}{drawn} {{human_pos}} of {{human_len}}{rate}{left}  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let rate = |state: &ProgressState, out: &mut dyn Write| {
        let _ = match state.per_sec() {
            rate if rate > RATE_SHOWN_MAX => write!(out, ", >{RATE_SHOWN_MAX}/s"),
            rate if rate > 0.0 => write!(out, ", {rate:.1}/s"),
            _ => Ok(()),
        };
    };
    let left = |state: &ProgressState, out: &mut dyn Write| {
        let is_known = state.per_sec() > 0.0 && state.pos() < state.len().unwrap_or(0);
        let _ = if is_known { write!(out, ", {:#} left", HumanDuration(state.eta())) } else { Ok(()) };
    };
    bar.set_style(style.with_key("rate", rate).with_key("left", left).progress_chars("=> "));
}

/// Decides when a plain line is due, and its text. Times are in milliseconds.
struct Plain {
    doing: &'static str,
    total: u64,
    begun_with: u64,
    begun_at: i64,
    said_at: i64,
    said_done: u64,
}

impl Plain {
    fn new(doing: &'static str, total: u64, done: u64, now: i64) -> Self {
        Self { doing, total, begun_with: done, begun_at: now, said_at: now, said_done: done }
    }

    fn line(&mut self, done: u64, beside: &str, now: i64) -> Option<String> {
        let tenth = |count: u64| count.saturating_mul(10) / self.total.max(1);
        let waited_ms = now - self.said_at;
        let is_worth_one = tenth(done) > tenth(self.said_done) && waited_ms >= LEAST_MS;
        if done == self.said_done || !(is_worth_one || waited_ms >= CALM_MS) {
            return None;
        }
        (self.said_at, self.said_done) = (now, done);
        Some(self.describe(done, beside, now))
    }

    fn describe(&self, done: u64, beside: &str, now: i64) -> String {
        let percent = done.saturating_mul(100) / self.total.max(1);
        let mut line = format!("{}: {done} of {} ({percent} %)", self.doing, self.total);
        let (new, elapsed_ms) = (done.saturating_sub(self.begun_with), now - self.begun_at);
        if new > 0 && elapsed_ms > 0 {
            let per_second = new as f64 * 1_000.0 / elapsed_ms as f64;
            line.push_str(&format!(", {per_second:.1}/s"));
            let left = self.total.saturating_sub(done);
            if left > 0 {
                let left_ms = i128::from(elapsed_ms) * i128::from(left) / i128::from(new);
                line.push_str(&format!(
                    ", {} left",
                    times::duration(i64::try_from(left_ms).unwrap_or(i64::MAX))
                ));
            }
        }
        if !beside.is_empty() {
            line.push_str(", ");
            line.push_str(beside);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// A terminal that records its output.
    #[derive(Debug, Clone)]
    struct Paper {
        columns: u16,
        lines: Arc<Mutex<Vec<String>>>,
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.lines.lock().unwrap().push(text.to_owned());
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_fits_its_terminal() {
        for columns in [40, 46, 57, 58, 69, 70, 80, 120, 200] {
            let lines = Arc::new(Mutex::new(Vec::new()));
            let paper = Paper { columns, lines: Arc::clone(&lines) };
            let bar = ProgressBar::with_draw_target(
                Some(1_000_000),
                ProgressDrawTarget::term_like(Box::new(paper)),
            );
            style_bar(&bar, usize::from(columns), false);
            bar.set_prefix("downloading");
            bar.set_message(
                "123 failed, 4 cancelled, and much more than any terminal has room for in one line",
            );
            bar.inc(999_000);
            bar.tick();
            let lines = lines.lock().unwrap();
            let longest = lines.iter().map(|line| line.trim_end().chars().count()).max().unwrap();
            assert!(longest <= usize::from(columns), "{columns}: {lines:?}");
            assert!(lines.iter().any(|line| line.contains("999,000 of 1,000,000")), "{columns}: {lines:?}");
            assert_eq!(lines.iter().any(|line| line.contains("[==")), columns >= 70, "{columns}: {lines:?}");
        }
    }

    #[test]
    fn plain_lines_come_at_every_tenth_or_every_five_seconds_and_say_the_rate() {
        let mut plain = Plain::new("waiting", 100, 20, 0);
        assert_eq!(plain.line(29, "", 1_500), None);
        assert_eq!(plain.line(30, "", 999), None);
        let expected = "waiting: 40 of 100 (40 %), 10.0/s, 6s left, 1 failed";
        assert_eq!(plain.line(40, "1 failed", 2_000).as_deref(), Some(expected));
        assert_eq!(plain.line(41, "", 6_999), None);
        assert!(plain.line(41, "", 7_000).is_some());
        assert_eq!(plain.line(41, "", 60_000), None);
        assert!(
            plain.line(100, "", 70_000).is_some_and(|line| line.starts_with("waiting: 100 of 100 (100 %)"))
        );
    }
}
