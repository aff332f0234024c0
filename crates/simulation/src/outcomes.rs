//! What operations come to.

use overnight_domain::records::{BatchRecord, RequestRecord, RequestSummary};
use overnight_domain::scheduler::{Lease, SchedulerCommand, SchedulerInput};
use overnight_server::app::batches::WholeBatch;
use overnight_server::app::errors::AppError;
use overnight_server::app::idempotency::Answered;
use overnight_server::store::StoreError;
use overnight_server::store::outbox::{ClaimedEvents, Due};

use super::engines::Flight;
use super::events::Duty;
use super::tags::Tag;

/// What an operation came to. `sent_at` counts the commits before a call.
#[derive(Debug)]
pub(super) enum Outcome {
    Created { request: Tag, sent_at: u64, answer: Result<Answered<RequestSummary>, AppError> },
    Cancelled { request: Tag, answer: Result<RequestRecord, AppError> },
    Grouped { batch: Tag, sent_at: u64, answer: Result<Answered<BatchRecord>, AppError> },
    KeyReused { tag: Tag, is_beside: bool, error: Option<AppError> },
    GroupCancelled { batch: Tag, answer: Result<WholeBatch, AppError> },
    Performed { command: SchedulerCommand, answer: Option<SchedulerInput> },
    Settled { flight: Flight, text: String, must_be_refused: bool, answer: Result<bool, StoreError> },
    WrittenLate { lease: Lease, must_be_refused: bool, answer: Result<bool, StoreError> },
    EventsClaimed { due: Vec<Due>, answer: Result<ClaimedEvents, StoreError> },
    TryConcluded { must_be_refused: bool, answer: Result<Vec<bool>, StoreError> },
    Done { duty: Duty, now: i64, answer: Result<(), StoreError> },
}
