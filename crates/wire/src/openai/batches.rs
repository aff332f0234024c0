//! Batches, in OpenAI's states.

use overnight_domain::batches::{BatchState, BatchStatus, Counters};
use overnight_domain::files::{BatchEndpoint, BatchFile, BatchInput};
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::COMPLETION_WINDOW_MS;

use super::files::batch_file_id;
use crate::json::{Raw, Second, Value as _, object};

/// A batch with the facts that its record lacks.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// Its stored record.
    pub record: &'a BatchRecord,
    /// The source of its requests, if it is a file.
    pub input: Option<&'a BatchInput>,
    /// Whether its requests are still being cancelled.
    pub is_cancelling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Validating,
    Failed,
    InProgress,
    Completed,
    Expired,
    Cancelling,
    Cancelled,
}

impl Status {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Validating => "validating",
            Self::Failed => "failed",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Expired => "expired",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Batch<'_> {
    fn expires_at(&self) -> i64 {
        self.record.created_at + COMPLETION_WINDOW_MS
    }

    fn ended_at(&self) -> Option<i64> {
        match self.record.state {
            BatchState::Completed { completed_at, .. } => Some(completed_at),
            BatchState::Cancelled { cancelled_at, .. } => Some(cancelled_at),
            BatchState::Registered | BatchState::InProgress { .. } => None,
        }
    }

    /// A batch that ended at its completion window has expired, whatever ended its last request.
    fn status(&self) -> Status {
        let is_late = self.ended_at().is_some_and(|ended_at| ended_at >= self.expires_at());
        match self.record.state.status() {
            _ if self.has_failed() => Status::Failed,
            BatchStatus::Completed if is_late => Status::Expired,
            BatchStatus::Completed => Status::Completed,
            BatchStatus::Cancelled if self.is_cancelling => Status::Cancelling,
            BatchStatus::Cancelled if is_late => Status::Expired,
            BatchStatus::Cancelled => Status::Cancelled,
            _ if self.input.is_some_and(|input| input.is_filling && input.filled == 0) => Status::Validating,
            BatchStatus::Registered | BatchStatus::InProgress => Status::InProgress,
        }
    }

    fn has_failed(&self) -> bool {
        self.input.is_some_and(|input| input.fault_count > 0)
    }
}

/// Appends a batch. The identifier of each of its files appears as soon as the file would have a line.
pub fn write_batch(batch: &Batch<'_>, out: &mut Vec<u8>) {
    let Batch { record, input, .. } = *batch;
    let Counters { completed, failed, cancelled, .. } = record.counters;
    let has_output = completed > 0 && !input.is_some_and(|input| input.is_output_deleted);
    let has_errors = failed + cancelled > 0 && !input.is_some_and(|input| input.is_error_deleted);
    let (status, ended_at) = (batch.status(), batch.ended_at());
    let ended_as = |wanted: &[Status]| ended_at.filter(|_| wanted.contains(&status)).map(Second);
    object! {
        "id": record.id,
        "object": "batch",
        "endpoint": input.map_or(BatchEndpoint::ChatCompletions, |input| input.endpoint).as_str(),
        "errors": input.filter(|input| input.fault_count > 0).map(|input| object! {
            "object": "list",
            "data": Raw(input.faults.as_deref().unwrap_or(b"[]")),
            "total": input.fault_count,
        }),
        "input_file_id": input.map_or_else(|| batch_file_id(BatchFile::Input, record.id), |input| input.file.to_string()),
        "completion_window": "24h",
        "status": status.as_str(),
        "output_file_id": has_output.then(|| batch_file_id(BatchFile::Output, record.id)),
        "error_file_id": has_errors.then(|| batch_file_id(BatchFile::Errors, record.id)),
        "created_at": Second(record.created_at),
        "in_progress_at": record.state.in_progress_at().map(Second),
        "expires_at": Second(batch.expires_at()),
        "finalizing_at": ended_as(&[Status::Completed]),
        "completed_at": ended_as(&[Status::Completed]),
        "failed_at": ended_as(&[Status::Failed]),
        "expired_at": ended_as(&[Status::Expired]),
        "cancelling_at": ended_as(&[Status::Cancelling, Status::Cancelled]),
        "cancelled_at": ended_as(&[Status::Cancelled]),
        "request_counts": object! {
            "total": record.counters.total(),
            "completed": completed,
            "failed": failed,
            "cancelled": cancelled,
        },
        "metadata": record.metadata.as_deref().map(Raw),
    }
    .append(out);
}
