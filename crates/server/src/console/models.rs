//! The models that an account may name, and a prompt to try one with.

use askama::Template;
use overnight_domain::money::Pricing;

use super::format::filters;
use super::layout::pages;
use super::{Layout, Section};
use crate::app::waiting::WaitingReason;

pub(crate) struct ModelRow {
    pub(crate) name: String,
    pub(crate) aliases: String,
    /// When it retires or has retired, in milliseconds, if it does.
    pub(crate) retires_at: Option<i64>,
    pub(crate) is_retired: bool,
    pub(crate) replaced_by: Option<String>,
    /// Per million tokens; `None` where nothing is charged.
    pub(crate) price: Option<Pricing>,
    /// The output limit of a request that names none, in tokens.
    pub(crate) default_max_tokens: u32,
    /// Why its requests are sent to no engine now; `None` where they are.
    pub(crate) trouble: Option<WaitingReason>,
}

impl ModelRow {
    /// How it stands, for everybody: a class and a word.
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
#[template(path = "console/models.html")]
pub(crate) struct ModelsPage {
    pub(crate) layout: Layout,
    pub(crate) models: Vec<ModelRow>,
    /// How many requests an account may have at once in a batch of lines.
    pub(crate) batch_requests: usize,
    /// The longest body of a request, in bytes.
    pub(crate) request_bytes: usize,
    pub(crate) url: String,
}

#[derive(Template)]
#[template(path = "console/playground.html")]
pub(crate) struct PlaygroundPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) may_work: bool,
    pub(crate) models: Vec<ModelRow>,
    pub(crate) model: &'a str,
    pub(crate) system: &'a str,
    pub(crate) prompt: &'a str,
    pub(crate) max_tokens: &'a str,
    pub(crate) temperature: &'a str,
    pub(crate) url: String,
}

pages!(ModelsPage, PlaygroundPage<'_>);
