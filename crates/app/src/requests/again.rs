//! Single requests that a person sends: from a form, or as a copy of an earlier one.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestSummary;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::requests::write_create;

use super::{Sent, create, get_record};
use crate::Services;
use crate::accounts;
use crate::errors::AppError;
use crate::idempotency::{self, Answered, FormKey, Repeatable};

/// Accepts a form's Create Request body. Repeats of the form get the first request. Fails with [`AppError::PaymentsNotActivated`], or like
/// [`create`].
pub async fn send_one(
    services: &Services,
    account: AccountKey,
    endpoint: Endpoint,
    body: Bytes,
    form: Option<FormKey>,
) -> Result<RequestId, AppError> {
    let payer = accounts::get_own(services, account).await?;
    if payer.payments_activated_at.is_none() && services.config().billing.enabled {
        return Err(AppError::PaymentsNotActivated);
    }
    let call = form.map(|FormKey(hash)| Repeatable { hash, write: write_id });
    match create(services, account, Sent { endpoint, body, reading: Ok, call }).await? {
        Answered::New(summary) => Ok(summary.id),
        Answered::Repeat(answer) => idempotency::read_id(&answer),
    }
}

/// Sends a copy of a request with all of the client's fields, in no batch. Fails like [`send_one`].
pub async fn send_again(
    services: &Services,
    account: AccountKey,
    id: RequestId,
    form: Option<FormKey>,
) -> Result<RequestId, AppError> {
    let record = get_record(services, account, id).await?;
    let mut body = Vec::with_capacity(record.body.len() + record.client.heap_bytes() + 128);
    write_create(&record, &mut body);
    send_one(services, account, record.endpoint, body.into(), form).await
}

fn write_id(summary: &RequestSummary, out: &mut Vec<u8>) {
    out.extend_from_slice(summary.id.to_string().as_bytes());
}
