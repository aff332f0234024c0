//! The account's models, and a form to try one.

use askama::Template;
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::money::Pricing;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};

pub(crate) struct ModelRow {
    pub name: String,
    pub aliases: String,
    /// When it retires or has retired, in milliseconds.
    pub retires_at: Option<i64>,
    pub is_retired: bool,
    pub replaced_by: Option<String>,
    /// Per million tokens; `None`: free.
    pub price: Option<Pricing>,
    /// For requests without a limit.
    pub default_max_tokens: u32,
    /// Why its requests are sent to no engine now.
    pub trouble: Option<WaitingReason>,
}

impl ModelRow {
    /// Its state for everyone: a class and a word.
    pub(super) const fn standing(&self) -> (&'static str, &'static str) {
        match self.trouble {
            _ if self.is_retired => ("registered", "retired"),
            None => ("completed", "available"),
            Some(WaitingReason::EnginesPaused { .. }) => ("failed", "paused"),
            Some(WaitingReason::NoEngine) => ("failed", "no engine"),
            Some(WaitingReason::EnginesClosed { .. }) => ("registered", "outside its hours"),
            Some(WaitingReason::EnginesOverBudget { .. }) => ("registered", "over its daily budget"),
            Some(WaitingReason::EnginesStopped { .. }) => ("registered", "ready when needed"),
            Some(_) => ("registered", "waiting"),
        }
    }

    pub(super) fn until(&self) -> Option<i64> {
        self.trouble.as_ref().filter(|_| !self.is_retired).and_then(WaitingReason::until)
    }
}

#[derive(Template)]
#[template(path = "models.html")]
pub(crate) struct ModelsPage {
    pub layout: Layout,
    pub models: Vec<ModelRow>,
    /// Requests of one batch of lines.
    pub batch_requests: usize,
    pub request_bytes: usize,
    pub url: String,
}

#[derive(Template)]
#[template(path = "playground.html")]
pub(crate) struct PlaygroundPage<'a> {
    pub layout: Layout,
    pub may_work: bool,
    pub models: Vec<ModelRow>,
    pub model: &'a str,
    pub system: &'a str,
    pub prompt: &'a str,
    pub max_tokens: &'a str,
    pub temperature: &'a str,
    pub url: String,
}

pages!(ModelsPage, PlaygroundPage<'_>);
