//! The list of requests, and the page of a request.

use askama::Template;
use overnight_app::batches::FailureGroups;
use overnight_app::requests::stalls::Stall;
use overnight_app::requests::waiting::WaitingReason;
use overnight_app::requests::{Label, RequestCharge, RequestHandling, RequestRow, Trying};
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_wire::native::warnings::Warning;

use super::format::filters;
use super::layout::pages;
use super::lists::{ListParams, NextPage, RowGroup};
use super::prompt::{Answer, Prompt};
use super::timeline::{self, Course, Moment};
use super::{Layout, Section};

#[derive(Template)]
#[template(path = "requests.html")]
pub(crate) struct RequestsPage<'a> {
    pub layout: Layout,
    pub params: ListParams,
    pub models: Vec<&'a str>,
    pub rows: Vec<RequestRow>,
    pub next_page: NextPage<RequestId>,
    /// The failures of the batch whose failed requests are listed.
    pub failures: Option<FailureGroups>,
    pub is_first: bool,
    pub url: String,
}

#[derive(Template)]
#[template(path = "request.html")]
pub(crate) struct RequestPage {
    pub layout: Layout,
    pub record: RequestRecord,
    pub prompt: Prompt,
    pub answer: Option<Answer>,
    pub charge: RequestCharge,
    /// Why it waits, and the expected end of that reason.
    pub waiting: Option<WaitingReason>,
    pub trying: Option<Trying>,
    pub stall: Option<Stall>,
    /// The estimated completion.
    pub completed_at: Option<i64>,
    pub handling: RequestHandling,
    /// When it is deleted, in milliseconds.
    pub deleted_at: Option<i64>,
    pub now: i64,
    pub may_work: bool,
    pub url: String,
}

impl RequestsPage<'_> {
    /// Failed requests are grouped by their failures.
    fn groups(&self) -> Vec<RowGroup<'_>> {
        match RequestStatus::parse(&self.params.status) {
            Some(RequestStatus::Failed) => RowGroup::by_failure(&self.rows, self.failures.as_ref()),
            _ => RowGroup::all(&self.rows),
        }
    }
}

impl RequestPage {
    fn status(&self) -> RequestStatus {
        self.record.summary.state.status()
    }

    fn address(&self) -> String {
        format!("{}/requests/{}", self.layout.home(), self.record.summary.id)
    }

    fn custom_id(&self) -> Option<String> {
        Label::read(self.record.client.metadata.as_deref()?).custom_id
    }

    /// Past and future moments, in order of time.
    fn moments(&self) -> Vec<Moment> {
        timeline::of(&Course {
            record: &self.record,
            waiting: self.waiting.as_ref(),
            trying: self.trying,
            completed_at: self.completed_at,
            handling: &self.handling,
            names_engines: self.layout.is_operator,
            deleted_at: self.deleted_at,
            now: self.now,
        })
    }

    /// `None` if it is empty.
    fn metadata(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.record.client.metadata.as_deref()?).into_owned();
        Some(text).filter(|text| text != "{}")
    }

    /// Fields that the engine did not honour, by its answer.
    fn warnings(&self) -> Vec<Warning> {
        let warnings = self.record.warnings.as_deref().unwrap_or(b"[]");
        serde_json::from_slice(warnings).unwrap_or_default()
    }
}

pages!(RequestsPage<'_>, RequestPage);
