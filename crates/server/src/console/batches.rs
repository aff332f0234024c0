//! The list of batches, and each of them by itself.

use askama::Template;
use overnight_domain::batches::{BatchStatus, Counters};
use overnight_domain::ids::BatchId;
use overnight_domain::money::Credits;
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::COMPLETION_WINDOW_MS;

use super::format::{filters, short};
use super::layout::pages;
use super::lists::{ListParams, NextPage, RowGroup};
use super::{Layout, Section};
use crate::app::batches::{BatchCost, BatchRow, FailureGroups};
use crate::app::requests::RequestRow;
use crate::app::stalls::Stall;
use crate::app::waiting::WaitingReason;

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

#[derive(Template)]
#[template(path = "console/batch.html")]
pub(crate) struct BatchPage {
    pub(crate) layout: Layout,
    pub(crate) record: BatchRecord,
    pub(crate) name: Option<String>,
    pub(crate) rows: Vec<RequestRow>,
    pub(crate) cost: BatchCost,
    pub(crate) failures: Option<FailureGroups>,
    /// When its last request will probably have been completed.
    pub(crate) completed_at: Option<i64>,
    /// Why it waits, where nothing of it has begun.
    pub(crate) waiting: Option<WaitingReason>,
    pub(crate) stalls: Vec<Stall>,
    /// For how long its requests are kept after their end, in milliseconds; `None` for ever.
    pub(crate) retention: Option<i64>,
    pub(crate) may_work: bool,
    pub(crate) url: String,
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

    /// The last moment at which a request of it can end.
    fn deadline(&self) -> i64 {
        self.record.created_at + COMPLETION_WINDOW_MS
    }
}

pages!(BatchesPage, BatchPage);
