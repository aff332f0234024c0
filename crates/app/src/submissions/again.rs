//! Sending failed requests of a batch again.

use overnight_domain::faults::codes;
use overnight_domain::ids::BatchId;
use overnight_domain::records::{BatchRecord, RequestRecord};
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::requests::write_create;

use super::drafts::{Draft, DraftSource};
use super::sending::{Terms, send};
use crate::errors::AppError;
use crate::idempotency::FormKey;
use crate::pages::Pages;
use crate::pages::RecordPages;
use crate::{Services, batches};

/// The failed requests of a batch.
#[derive(Clone)]
struct Failed(RecordPages);

/// Sends the failed requests of a batch again with all of the client's fields, as a new batch with the same webhook and the old name plus "
/// (again)". Like [`super::submit`], it creates all of them or none. Fails with [`AppError::Invalid`] if none failed, or one would not be
/// accepted any more.
pub async fn send_again(
    services: &Services,
    account: AccountKey,
    id: BatchId,
    form: Option<FormKey>,
) -> Result<BatchRecord, AppError> {
    let (batch, record) = batches::find(services, account, id).await?;
    if record.counters.failed == 0 {
        return Err(AppError::invalid("batch", codes::OUT_OF_RANGE, "has no failed requests"));
    }
    let webhook = record.webhook.as_deref();
    let named = |name: &str| Terms::new(services, Some(&format!("{name} (again)")), webhook);
    let own_name = batches::name_of(&record).map(|name| named(&name));
    let terms = match own_name {
        Some(Ok(terms)) => terms,
        // The name is missing, or too long for the suffix.
        Some(Err(_)) | None => named(&id.to_string())?,
    };
    let failed = Failed(RecordPages::failed_of_batch(services, account, batch));
    send(services, account, failed, terms, form).await
}

impl Pages for Failed {
    type Row = Draft;

    async fn next_page(&mut self) -> Result<Option<Vec<Draft>>, AppError> {
        tokio::task::yield_now().await;
        let Some(records) = self.0.next_page().await? else { return Ok(None) };
        Ok(Some(records.iter().map(draft).collect()))
    }
}

fn draft(record: &RequestRecord) -> Draft {
    let mut body = Vec::with_capacity(record.body.len() + record.client.heap_bytes() + 128);
    write_create(record, &mut body);
    Draft { source: DraftSource::Request(record.summary.id), endpoint: record.endpoint, body: Ok(body) }
}
