//! One request that a person sends: filled in, or as one before it was.

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestSummary;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::requests::write_create;

use super::{create_for, get_record};
use crate::app::Services;
use crate::app::accounts;
use crate::app::errors::AppError;
use crate::app::idempotency::{self, Answered, FormKey, Repeatable};

/// Takes in the Create Request body that a form makes. Repeats of the form are answered with the first request.
///
/// # Errors
///
/// [`AppError::PaymentsNotActivated`]; otherwise as [`create_for`].
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
    match create_for(services, account, endpoint, body, Ok, call).await? {
        Answered::New(summary) => Ok(summary.id),
        Answered::Repeat(answer) => idempotency::read_id(&answer),
    }
}

/// Sends a request once more, with all that the client sent: as a request of its own, in no batch.
///
/// # Errors
///
/// [`AppError::NotFound`] where it is none of the account's; otherwise as [`send_one`].
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
