//! An account's webhooks.

use askama::Template;
use overnight_app::webhooks::{DeliveryRecord, EventRecord, EventState, WebhookSecret};

use super::format::filters;
use super::layout::pages;
use super::lists::NextPage;
use super::{Layout, Section};

/// The signing secrets of webhooks, and the events.
#[derive(Template)]
#[template(path = "webhooks.html")]
pub(crate) struct WebhooksPage<'a> {
    pub layout: Layout,
    pub may_work: bool,
    /// The newest first; empty if the visitor may not see them.
    pub secrets: Vec<WebhookSecret>,
    pub events: Vec<EventRecord>,
    pub state: Option<EventState>,
    pub next_page: NextPage<i64>,
    pub is_first: bool,
    pub tested: &'a str,
}

impl WebhooksPage<'_> {
    /// The page after the event in this row.
    fn after(&self, seq: &i64) -> String {
        let state = self.state.map(|state| format!("&state={}", state.as_str())).unwrap_or_default();
        format!("{}/webhooks?before={seq}{state}", self.layout.home())
    }
}

#[derive(Template)]
#[template(path = "event.html")]
pub(crate) struct EventPage {
    pub layout: Layout,
    pub may_work: bool,
    pub event: EventRecord,
    pub tries: Vec<DeliveryRecord>,
    /// Whether older tries are omitted.
    pub is_cut: bool,
}

impl EventPage {
    fn subject_page(&self) -> Option<String> {
        let subject = self.event.subject.as_deref()?;
        let list = if subject.starts_with("batch_") { "batches" } else { "requests" };
        Some(format!("{}/{list}/{subject}", self.layout.home()))
    }
}

pages!(WebhooksPage<'_>, EventPage);
