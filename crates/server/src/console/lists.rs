//! Lists of requests and batches, and each of them by itself.

use askama::Template;
use overnight_domain::batches::{BatchStatus, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::money::Credits;
use overnight_domain::records::{BatchRecord, RequestRecord};
use overnight_domain::requests::RequestStatus;

use super::format::filters;
use super::layout::pages;
use super::prompt::{Answer, Prompt};
use super::{Layout, Section};
use crate::app::batches::{BatchCost, BatchRow, FailureGroups};
use crate::app::requests::{RequestCharge, RequestRow};
use crate::app::waiting::WaitingReason;

/// The parameters of a list, as they stand in its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListParams {
    pub(crate) status: String,
    pub(crate) model: String,
    pub(crate) batch: String,
    pub(crate) search: String,
}

impl ListParams {
    /// Whether anything is left out.
    fn is_filtered(&self) -> bool {
        *self != Self::default()
    }

    /// The part of it that List Requests takes.
    fn as_api(&self) -> String {
        let fields = [("status", &self.status), ("model", &self.model)];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        let query = query.finish();
        if query.is_empty() { query } else { format!("{query}&") }
    }

    /// The query of the page behind `before`.
    fn after(&self, before: &impl std::fmt::Display) -> String {
        let fields = [
            ("status", &self.status),
            ("model", &self.model),
            ("batch", &self.batch),
            ("search", &self.search),
        ];
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(fields.into_iter().filter(|(_, value)| !value.is_empty()));
        query.append_pair("before", &before.to_string());
        query.finish()
    }
}

/// Where the next page of a list begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPage<Id> {
    /// Nowhere: this is its end.
    End,
    /// Behind this one.
    Next(Id),
    /// Behind this one, up to which was looked.
    LookOn(Id),
}

impl<Id> NextPage<Id> {
    /// From what a page of a list says.
    pub(crate) fn of(next: Option<Id>, looked_through: Option<Id>) -> Self {
        match (next, looked_through) {
            (Some(next), _) => Self::Next(next),
            (None, Some(last)) => Self::LookOn(last),
            (None, None) => Self::End,
        }
    }
}

/// The requests of an account.
#[derive(Template)]
#[template(path = "console/requests.html")]
pub(crate) struct RequestsPage<'a> {
    pub(crate) layout: Layout,
    pub(crate) params: ListParams,
    pub(crate) models: Vec<&'a str>,
    pub(crate) rows: Vec<RequestRow>,
    pub(crate) next_page: NextPage<RequestId>,
    /// Whether this is the first page.
    pub(crate) is_first: bool,
    pub(crate) url: String,
}

/// A request.
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
    pub(crate) may_work: bool,
    pub(crate) url: String,
}

impl RequestPage {
    fn status(&self) -> RequestStatus {
        self.record.summary.state.status()
    }

    /// The metadata, where there is anything in it.
    fn metadata(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.record.client.metadata.as_deref()?).into_owned();
        Some(text).filter(|text| text != "{}")
    }
}

/// The batches of an account.
#[derive(Template)]
#[template(path = "console/batches.html")]
pub(crate) struct BatchesPage {
    pub(crate) layout: Layout,
    pub(crate) params: ListParams,
    pub(crate) rows: Vec<BatchRow>,
    pub(crate) next_page: NextPage<BatchId>,
    pub(crate) is_first: bool,
    pub(crate) url: String,
}

/// A batch.
#[derive(Template)]
#[template(path = "console/batch.html")]
pub(crate) struct BatchPage {
    pub(crate) layout: Layout,
    pub(crate) record: BatchRecord,
    pub(crate) name: Option<String>,
    pub(crate) rows: Vec<RequestRow>,
    pub(crate) cost: BatchCost,
    pub(crate) failures: Option<FailureGroups>,
    /// When it is done at this pace.
    pub(crate) done_by: Option<i64>,
    /// Why it waits, where nothing of it has begun.
    pub(crate) waiting: Option<WaitingReason>,
    pub(crate) may_work: bool,
    pub(crate) url: String,
}

impl BatchPage {
    fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| super::format::short(&self.record.id))
    }

    fn status(&self) -> BatchStatus {
        self.record.state.status()
    }

    /// Its own address.
    fn address(&self) -> String {
        format!("{}/batches/{}", self.layout.home(), self.record.id)
    }

    fn counters(&self) -> Counters {
        self.record.counters
    }

    /// The last moment at which a request of it can end.
    fn deadline(&self) -> i64 {
        self.record.created_at + overnight_domain::requests::COMPLETION_WINDOW_MS
    }
}

pages!(RequestsPage<'_>, RequestPage, BatchesPage, BatchPage);
