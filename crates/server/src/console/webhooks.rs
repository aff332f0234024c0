//! What an account is told by webhook.

use askama::Template;

use super::format::filters;
use super::layout::pages;
use super::lists::NextPage;
use super::{Layout, Section};
use crate::app::webhooks::{DeliveryRecord, EventRecord, EventState, WebhookSecret};

/// What webhooks are signed with, and what became of them.
#[derive(Template)]
#[template(path = "console/webhooks.html")]
pub(crate) struct WebhooksPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) may_work: bool,
    /// The newest first; none where the visitor may not see them.
    pub(crate) secrets: Vec<WebhookSecret>,
    pub(crate) events: Vec<EventRecord>,
    pub(crate) state: Option<EventState>,
    pub(crate) next_page: NextPage<i64>,
    pub(crate) is_first: bool,
    /// The address that was tested just now.
    pub(crate) tested: &'a str,
}

impl WebhooksPage<'_> {
    /// The page behind the event in this row.
    fn after(&self, seq: &i64) -> String {
        let state = self.state.map(|state| format!("&state={}", state.as_str())).unwrap_or_default();
        format!("{}/webhooks?before={seq}{state}", self.layout.home())
    }
}

#[derive(Template)]
#[template(path = "console/event.html")]
pub(crate) struct EventPage {
    pub(crate) layout: Layout,
    pub(crate) may_work: bool,
    pub(crate) event: EventRecord,
    pub(crate) tries: Vec<DeliveryRecord>,
    /// Whether there were older tries.
    pub(crate) is_cut: bool,
}

impl EventPage {
    /// The page of what the event is about.
    fn subject_page(&self) -> Option<String> {
        let subject = self.event.subject.as_deref()?;
        let list = if subject.starts_with("batch_") { "batches" } else { "requests" };
        Some(format!("{}/{list}/{subject}", self.layout.home()))
    }
}

pages!(WebhooksPage<'_>, EventPage);
