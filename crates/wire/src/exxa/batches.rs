//! Batches as this dialect's clients read them.

use overnight_domain::batches::BatchStatus;
use overnight_domain::ids::RequestId;
use overnight_domain::records::BatchRecord;

use super::states;
use crate::json::{IfSet, Raw, Value as _, members, object};
use crate::native::batches::{head, times};

/// Appends the answer to Create Batch. Its state is always `registered`.
pub fn write_created(batch: &BatchRecord, out: &mut Vec<u8>) {
    object! { ..head(batch, states::name_of_batch(BatchStatus::Registered)) }.append(out);
}

/// Appends the status record.
pub fn write_status(batch: &BatchRecord, out: &mut Vec<u8>) {
    object! { ..status(batch) }.append(out);
}

/// Appends the full record, with `requests_ids` in the order in which the client sent them.
pub fn write_full(batch: &BatchRecord, requests_ids: Option<&[RequestId]>, out: &mut Vec<u8>) {
    object! {
        ..status(batch),
        "requests_ids": IfSet(requests_ids),
        "webhook": batch.webhook.as_deref(),
        "metadata": Raw(batch.metadata.as_deref().unwrap_or(b"{}")),
    }
    .append(out);
}

fn status(batch: &BatchRecord) -> impl Fn(&mut Vec<u8>) {
    members! { ..head(batch, states::name_of_batch(batch.state.status())), ..times(batch) }
}
