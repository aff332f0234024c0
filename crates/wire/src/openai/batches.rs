//! Batches, in OpenAI's states.

use overnight_domain::batches::{BatchState, BatchStatus, Counters};
use overnight_domain::files::{BatchEndpoint, BatchInput};
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::COMPLETION_WINDOW_MS;

use super::files::BatchFile;
use crate::json::{push, push_id, push_integer, push_json_or_null, push_key, push_string, push_time};

/// What is shown of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    /// The batch.
    pub record: &'a BatchRecord,
    /// Where its requests come from, if from a file.
    pub input: Option<&'a BatchInput>,
    /// Whether its requests are still being cancelled.
    pub is_cancelling: bool,
}

/// OpenAI's states.
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

    /// A batch whose end came with its completion window has expired, whatever ended the last of it.
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

/// Appends a batch.
pub fn write_batch(batch: &Batch<'_>, out: &mut Vec<u8>) {
    let Batch { record, input, .. } = *batch;
    let status = batch.status();
    push("{\"id\":", out);
    push_id(record.id, out);
    push(",\"object\":\"batch\",\"endpoint\":", out);
    push_string(input.map_or(BatchEndpoint::ChatCompletions, |input| input.endpoint).as_str(), out);
    push_key("errors", out);
    push_errors(input, out);
    push_key("input_file_id", out);
    match input {
        Some(input) => push_id(input.file, out),
        None => BatchFile::Input.push_id(record.id, out),
    }
    push(",\"completion_window\":\"24h\",\"status\":", out);
    push_string(status.as_str(), out);
    push_outputs(batch, out);
    push_times(batch, status, out);
    let Counters { completed, failed, cancelled, .. } = record.counters;
    push(",\"request_counts\":{\"total\":", out);
    push_integer(record.counters.total(), out);
    push_key("completed", out);
    push_integer(completed, out);
    push_key("failed", out);
    push_integer(failed, out);
    push_key("cancelled", out);
    push_integer(cancelled, out);
    push("}", out);
    push_key("metadata", out);
    push_json_or_null(record.metadata.as_deref(), out);
    push("}", out);
}

/// What was wrong with its file.
fn push_errors(input: Option<&BatchInput>, out: &mut Vec<u8>) {
    let Some(input) = input.filter(|input| input.fault_count > 0) else { return push("null", out) };
    push("{\"object\":\"list\",\"data\":", out);
    out.extend_from_slice(input.faults.as_deref().unwrap_or(b"[]"));
    push_key("total", out);
    push_integer(input.fault_count, out);
    push("}", out);
}

/// The files that are read of it: each is there as soon as it would hold a line.
fn push_outputs(batch: &Batch<'_>, out: &mut Vec<u8>) {
    let Counters { completed, failed, cancelled, .. } = batch.record.counters;
    let has_output = completed > 0 && !batch.input.is_some_and(|input| input.is_output_deleted);
    let has_errors = failed + cancelled > 0 && !batch.input.is_some_and(|input| input.is_error_deleted);
    for (key, kind, is_there) in
        [("output_file_id", BatchFile::Output, has_output), ("error_file_id", BatchFile::Errors, has_errors)]
    {
        push_key(key, out);
        match is_there {
            true => kind.push_id(batch.record.id, out),
            false => push("null", out),
        }
    }
}

fn push_times(batch: &Batch<'_>, status: Status, out: &mut Vec<u8>) {
    let (state, ended_at) = (&batch.record.state, batch.ended_at());
    let ended_as = |wanted: &[Status]| ended_at.filter(|_| wanted.contains(&status));
    for (key, time) in [
        ("created_at", Some(batch.record.created_at)),
        ("in_progress_at", state.in_progress_at()),
        ("expires_at", Some(batch.expires_at())),
        ("finalizing_at", ended_as(&[Status::Completed])),
        ("completed_at", ended_as(&[Status::Completed])),
        ("failed_at", ended_as(&[Status::Failed])),
        ("expired_at", ended_as(&[Status::Expired])),
        ("cancelling_at", ended_as(&[Status::Cancelling, Status::Cancelled])),
        ("cancelled_at", ended_as(&[Status::Cancelled])),
    ] {
        push_key(key, out);
        match time {
            Some(time) => push_time(time, out),
            None => push("null", out),
        }
    }
}
