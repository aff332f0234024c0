//! States and bars: the only markup that is made in code. It contains no foreign text.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;
use overnight_domain::batches::Counters;

use super::count;

/// The state of a completed batch with failed requests.
const WITH_FAILURES: &str = "completed with failures";

/// A state: a word, a shape and a colour.
#[derive(Debug, Clone)]
pub(crate) struct State(pub(super) String);

impl State {
    pub(super) fn of_batch(status: String, counters: &Counters) -> Self {
        let has_failures = status == "completed" && counters.failed > 0;
        Self(if has_failures { WITH_FAILURES.to_owned() } else { status })
    }
}

impl HtmlSafe for State {}

impl Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every word is one of ours; unknown ones have no class and are not written.
        let (class, word) = match &*self.0 {
            "in progress" => ("running", "in progress"),
            "completed" => ("completed", "completed"),
            WITH_FAILURES => ("failed", WITH_FAILURES),
            "failed" => ("failed", "failed"),
            "cancelled" => ("cancelled", "cancelled"),
            "pending" => ("running", "pending"),
            "delivered" => ("completed", "delivered"),
            "exhausted" => ("failed", "exhausted"),
            "registered" => ("registered", "waiting"),
            _ => ("registered", "unknown"),
        };
        write!(formatter, "<span class=\"state {class}\">{word}</span>")
    }
}

/// The least width of a segment, in percent.
const WIDTH_MIN: f64 = 0.6;

/// The state of a batch as a bar with a segment for each status: from night to dawn what completed, failed, was cancelled and runs; what
/// waits stays dark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Night(pub(super) Counters);

impl HtmlSafe for Night {}

impl Display for Night {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { registered, in_progress, completed, failed, cancelled } = self.0;
        let total = self.0.total().max(1) as f64;
        let segments = [
            ("done", "completed", completed),
            ("fail", "failed", failed),
            ("drop", "cancelled", cancelled),
            ("run", "in progress", in_progress),
            ("", "waiting", registered),
        ];
        let told = segments.iter().filter(|(_, _, number)| *number > 0);
        let told: Vec<String> = told.map(|(_, word, number)| format!("{} {word}", count(number))).collect();
        let told = if told.is_empty() { "no requests".to_owned() } else { told.join(", ") };
        write!(
            formatter,
            "<svg class=\"night\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{told}\">\
             <rect class=\"sky\" width=\"100\" height=\"10\"/>"
        )?;
        // The least visible width of a count above 0.
        let width = |number: i64| match number {
            0 => 0.0,
            some => (some as f64 / total * 100.0).max(WIDTH_MIN),
        };
        let whole = segments.iter().map(|(_, _, number)| width(*number)).sum::<f64>().max(100.0);
        let mut start = 0.0;
        for (class, _, number) in segments.iter().filter(|(_, _, number)| *number > 0) {
            let part = width(*number) * 100.0 / whole;
            if !class.is_empty() {
                write!(
                    formatter,
                    "<rect class=\"{class}\" x=\"{start:.1}\" width=\"{part:.1}\" height=\"10\"/>"
                )?;
            }
            start += part;
        }
        formatter.write_str("</svg>")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_whose_requests_failed_does_not_look_as_if_they_had_not() {
        let failed = Counters { completed: 39, failed: 1, ..Counters::default() };
        let state = |status: &str, counters| State::of_batch(status.to_owned(), counters).to_string();
        assert_eq!(
            state("completed", &failed),
            "<span class=\"state failed\">completed with failures</span>"
        );
        assert!(state("in progress", &failed).contains(">in progress<"));
        let counters = Counters { completed: 40, ..Counters::default() };
        assert_eq!(state("completed", &counters), "<span class=\"state completed\">completed</span>");
    }

    #[test]
    fn a_bar_has_a_segment_for_each_outcome_and_says_the_same_in_words() {
        let counters = Counters { registered: 10, in_progress: 10, completed: 40, failed: 30, cancelled: 10 };
        let bar = Night(counters).to_string();
        assert!(
            bar.contains("aria-label=\"40 completed, 30 failed, 10 cancelled, 10 in progress, 10 waiting\"")
        );
        for segment in [
            "class=\"done\" x=\"0.0\" width=\"40.0\"",
            "class=\"fail\" x=\"40.0\" width=\"30.0\"",
            "class=\"drop\" x=\"70.0\" width=\"10.0\"",
            "class=\"run\" x=\"80.0\" width=\"10.0\"",
        ] {
            assert!(bar.contains(segment), "{bar}");
        }
        let cancelled = Night(Counters { cancelled: 60, ..Counters::default() }).to_string();
        assert!(
            cancelled.contains("class=\"drop\" x=\"0.0\" width=\"100.0\"") && !cancelled.contains("done")
        );
        let one = Night(Counters { failed: 1, completed: 99_999, ..Counters::default() }).to_string();
        assert!(one.contains("class=\"fail\" x=\"99.4\" width=\"0.6\""), "{one}");
        let first = Night(Counters { completed: 1, in_progress: 99_999, ..Counters::default() }).to_string();
        assert!(first.contains("class=\"run\" x=\"0.6\" width=\"99.4\""), "{first}");
    }
}
