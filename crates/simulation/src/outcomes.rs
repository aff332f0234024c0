//! Outcomes of operations.

use std::pin::Pin;

use overnight_app::batches::WholeBatch;
use overnight_app::errors::AppError;
use overnight_app::file_batches::FillPause;
use overnight_app::idempotency::Answered;
use overnight_domain::records::{BatchRecord, RequestRecord, RequestSummary};
use overnight_domain::scheduler::{AccountKey, Lease, SchedulerCommand, SchedulerInput};
use overnight_store::StoreError;
use overnight_store::outbox::{ClaimedEvents, Due};

use super::engines::Flight;
use super::events::Duty;
use super::tags::Tag;

/// A call of a use case that may be repeated.
pub(super) type UseCase<T> = Pin<Box<dyn Future<Output = Result<Answered<T>, AppError>> + Send>>;

/// `sent_at` is the number of commits before the call.
#[derive(Debug)]
pub(super) enum Outcome {
    Created { request: Tag, sent_at: u64, answer: Result<Answered<RequestSummary>, AppError> },
    Cancelled { request: Tag, answer: Result<RequestRecord, AppError> },
    Grouped { batch: Tag, sent_at: u64, answer: Result<Answered<BatchRecord>, AppError> },
    Deleted { tag: Tag, answer: Result<(), AppError> },
    Filled { account: AccountKey, answer: Result<FillPause, AppError> },
    KeyReused { tag: Tag, is_beside: bool, error: Option<AppError> },
    GroupCancelled { batch: Tag, answer: Result<WholeBatch, AppError> },
    Performed { command: SchedulerCommand, answer: Option<SchedulerInput> },
    Settled { flight: Flight, text: String, must_be_refused: bool, answer: Result<bool, StoreError> },
    WrittenLate { lease: Lease, must_be_refused: bool, answer: Result<bool, StoreError> },
    EventsClaimed { due: Vec<Due>, answer: Result<ClaimedEvents, StoreError> },
    TryConcluded { tag: Option<Tag>, must_be_refused: bool, answer: Result<Vec<bool>, StoreError> },
    Done { duty: Duty, now: i64, answer: Result<(), StoreError> },
}
