//! The list of requests, and each of them by itself.

use askama::Template;
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
use crate::app::batches::FailureGroups;
use crate::app::requests::{Label, RequestCharge, RequestHandling, RequestRow, Trying};
use crate::app::stalls::Stall;
use crate::app::waiting::WaitingReason;

#[derive(Template)]
#[template(path = "console/requests.html")]
pub(crate) struct RequestsPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) params: ListParams,
    pub(crate) models: Vec<&'a str>,
    pub(crate) rows: Vec<RequestRow>,
    pub(crate) next_page: NextPage<RequestId>,
    /// Why requests failed, where those of one batch are listed that did.
    pub(crate) failures: Option<FailureGroups>,
    /// Whether this is the first page.
    pub(crate) is_first: bool,
    pub(crate) url: String,
}

#[derive(Template)]
#[template(path = "console/request.html")]
pub(crate) struct RequestPage {
    pub(crate) layout: Layout,
    pub(crate) record: RequestRecord,
    pub(crate) prompt: Prompt,
    pub(crate) answer: Option<Answer>,
    pub(crate) charge: RequestCharge,
    /// Why it waits, if it does, and until when that is known.
    pub(crate) waiting: Option<WaitingReason>,
    /// Where it stands, while it is in progress.
    pub(crate) trying: Option<Trying>,
    pub(crate) stall: Option<Stall>,
    /// When it will probably have been completed.
    pub(crate) completed_at: Option<i64>,
    /// How it was handled, as far as that was noted.
    pub(crate) handling: RequestHandling,
    /// When it is deleted, in milliseconds.
    pub(crate) deleted_at: Option<i64>,
    pub(crate) now: i64,
    pub(crate) may_work: bool,
    pub(crate) url: String,
}

impl RequestsPage<'_> {
    /// The rows; where they are those that failed, by their failures.
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

    /// What happened to it, and what is to come, in order of time.
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

    /// The metadata, where there is anything in it.
    fn metadata(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.record.client.metadata.as_deref()?).into_owned();
        Some(text).filter(|text| text != "{}")
    }

    /// What the answer shows of fields that the engine did not honour.
    fn warnings(&self) -> Vec<Warning> {
        let warnings = self.record.warnings.as_deref().unwrap_or(b"[]");
        serde_json::from_slice(warnings).unwrap_or_default()
    }
}

pages!(RequestsPage<'_>, RequestPage);
