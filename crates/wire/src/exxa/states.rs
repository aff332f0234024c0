//! Names of states, without spaces in this dialect.

use overnight_domain::batches::BatchStatus;
use overnight_domain::requests::RequestStatus;

const IN_PROGRESS: &str = "in_progress";

/// The name of a request's state.
pub fn name_of_request(status: RequestStatus) -> &'static str {
    match status {
        RequestStatus::InProgress => IN_PROGRESS,
        other => other.as_str(),
    }
}

/// The name of a batch's state.
pub fn name_of_batch(status: BatchStatus) -> &'static str {
    match status {
        BatchStatus::InProgress => IN_PROGRESS,
        other => other.as_str(),
    }
}
