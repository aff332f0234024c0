//! The list of batches, and the page of a batch.

use askama::Template;
use overnight_app::batches::{BatchCost, BatchRow, FailureGroups};
use overnight_app::requests::RequestRow;
use overnight_app::requests::stalls::Stall;
use overnight_app::requests::waiting::WaitingReason;
use overnight_domain::batches::{BatchStatus, Counters};
use overnight_domain::ids::BatchId;
use overnight_domain::money::Credits;
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::COMPLETION_WINDOW_MS;

use super::format::{filters, short};
use super::layout::pages;
use super::lists::{ListParams, NextPage, RowGroup};
use super::{Layout, Section};

#[derive(Template)]
#[template(path = "batches.html")]
pub(crate) struct BatchesPage {
    pub layout: Layout,
    pub params: ListParams,
    pub rows: Vec<BatchRow>,
    pub next_page: NextPage<BatchId>,
    pub is_first: bool,
    pub url: String,
}

#[derive(Template)]
#[template(path = "batch.html")]
pub(crate) struct BatchPage {
    pub layout: Layout,
    pub record: BatchRecord,
    pub name: Option<String>,
    pub rows: Vec<RequestRow>,
    pub cost: BatchCost,
    pub failures: Option<FailureGroups>,
    /// The estimated completion of its last request.
    pub completed_at: Option<i64>,
    /// Why nothing of it has begun.
    pub waiting: Option<WaitingReason>,
    pub stalls: Vec<Stall>,
    /// Of its requests after their end, in milliseconds; `None`: for ever.
    pub retention: Option<i64>,
    pub may_work: bool,
    pub url: String,
}

impl BatchPage {
    fn title(&self) -> String {
        self.name.clone().unwrap_or_else(|| short(&self.record.id))
    }

    fn status(&self) -> BatchStatus {
        self.record.state.status()
    }

    fn address(&self) -> String {
        format!("{}/batches/{}", self.layout.home(), self.record.id)
    }

    fn groups(&self) -> Vec<RowGroup<'_>> {
        RowGroup::all(&self.rows)
    }

    fn counters(&self) -> Counters {
        self.record.counters
    }

    /// The latest time at which a request of it can end.
    fn deadline(&self) -> i64 {
        self.record.created_at + COMPLETION_WINDOW_MS
    }
}

pages!(BatchesPage, BatchPage);
