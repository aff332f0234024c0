//! What is shown in more than letters: the only markup that is made in code. Nothing in it came from outside.

use std::fmt::{self, Display};

use askama::filters::HtmlSafe;

use super::count;

/// How something stands: a word, a shape and a colour.
#[derive(Debug, Clone)]
pub(crate) struct State(pub(super) String);

impl HtmlSafe for State {}

impl Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every word is one of ours; others have no class and are not written.
        let (class, word) = match &*self.0 {
            "in progress" => ("running", "in progress"),
            "completed" => ("completed", "completed"),
            "failed" => ("failed", "failed"),
            "cancelled" => ("cancelled", "cancelled"),
            "pending" => ("running", "pending"),
            "delivered" => ("completed", "delivered"),
            "exhausted" => ("failed", "exhausted"),
            "registered" => ("registered", "registered"),
            _ => ("registered", "unknown"),
        };
        write!(formatter, "<span class=\"state {class}\">{word}</span>")
    }
}

/// How much of a batch was answered or has failed, from night to dawn. What was cancelled stays dark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Night {
    pub(super) done: i64,
    pub(super) total: i64,
}

impl HtmlSafe for Night {}

impl Display for Night {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.done as f64 / self.total.max(1) as f64 * 100.0;
        write!(
            formatter,
            "<svg class=\"night\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"{} of {} done\"><rect class=\"sky\" width=\"100\" height=\"10\"/>\
             <rect width=\"{share:.1}\" height=\"10\" fill=\"url(#dawn)\"/></svg>",
            count(&self.done),
            count(&self.total)
        )
    }
}
