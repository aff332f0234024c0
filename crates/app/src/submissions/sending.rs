//! Storing reviewed requests, and cancelling them if that fails midway.

use std::sync::Arc;

use futures_util::future::join_all;
use overnight_base::tasks;
use overnight_domain::faults::codes;
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::json::ObjectWriter;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::idempotency_keys::{self, Guard};
use overnight_store::requests::{self, CancelOutcome};

use super::drafts::{Draft, DraftFault, Drafts, bytes_of};
use super::review::{invalid, review_all, reviewed};
use crate::accounts::quotas;
use crate::errors::AppError;
use crate::idempotency::{self, Answered, FormKey};
use crate::parsing::parse;
use crate::requests::{Coming, take_in};
use crate::write_retry::write_with_retry;
use crate::{Services, accounts, batches, finish, input};

/// Requests per cancellation.
const CANCELS_AT_ONCE: usize = 256;

/// How long an answer waits for cancellations, which then continue in the background.
const PATIENCE_MS: i64 = 10_000;

/// A batch's properties other than its requests.
pub(super) struct Terms {
    webhook: Option<String>,
    metadata: Vec<u8>,
}

impl Terms {
    /// Fails with [`AppError::Invalid`] if Create Batch would.
    pub(super) fn new(
        services: &Services,
        name: Option<&str>,
        webhook: Option<&str>,
    ) -> Result<Self, AppError> {
        if let Some(address) = webhook {
            input::check_address(address, &services.config().webhooks)?;
        }
        let mut metadata = ObjectWriter::with_capacity(64);
        if let Some(name) = name {
            metadata.string(batches::NAME_KEY, name);
        }
        let metadata = metadata.finish().into_string().into_bytes();
        if metadata.len() > services.config().limits.metadata_bytes {
            return Err(AppError::invalid("name", codes::OUT_OF_RANGE, "is too long"));
        }
        Ok(Self { webhook: webhook.map(str::to_owned), metadata })
    }
}

/// Creates all requests as one batch, or none. A repeat of the form gets the first batch.
pub(super) async fn send(
    services: &Services,
    account: AccountKey,
    drafts: impl Drafts,
    terms: Terms,
    form: Option<FormKey>,
) -> Result<BatchRecord, AppError> {
    let shared = services.clone();
    let guard = form.map(|form| form.guard(write_id));
    finish(async move {
        if let Some(guard) = guard
            && let Some(recalled) = idempotency_keys::find(&shared.store, account, &guard.key).await?
        {
            return first(&shared, account, idempotency::made_before(recalled)?).await;
        }
        let payer = accounts::get_own(&shared, account).await?;
        if payer.payments_activated_at.is_none() && shared.config().billing.enabled {
            return Err(AppError::PaymentsNotActivated);
        }
        let checked = review_all(&shared, account, drafts.clone()).await?;
        let (requests, bytes) = (checked.requests, checked.bytes);
        checked.require()?;
        quotas::check(&shared, &payer, requests as i64, bytes).await?;
        let mut ids = Vec::new();
        let made = match store_all(&shared, account, drafts, &mut ids).await {
            Ok(()) => group(&shared, account, &ids, terms, guard).await,
            Err(error) => Err(error),
        };
        if !matches!(made, Ok(Answered::New(_))) {
            take_back(&shared, account, ids).await;
        }
        match made? {
            Answered::New(batch) => Ok(batch),
            // Another node was faster.
            Answered::Repeat(id) => first(&shared, account, idempotency::read_id(&id)?).await,
        }
    })
    .await
}

/// Stores them in order; `ids` are all that may have been stored, even after a failure.
async fn store_all(
    services: &Services,
    account: AccountKey,
    mut drafts: impl Drafts,
    ids: &mut Vec<RequestId>,
) -> Result<(), AppError> {
    while let Some(page) = drafts.next_page().await? {
        let bytes = bytes_of(&page);
        let requests = parse(services, account, bytes, move |services| {
            page.iter().map(|draft| made(services, account, draft)).collect::<Result<Vec<_>, _>>()
        });
        let requests = requests.await?;
        ids.extend(requests.iter().map(|coming| coming.request.id));
        for taken in join_all(requests.into_iter().map(|request| take_in(services, request, None))).await {
            taken?;
        }
    }
    Ok(())
}

fn made(services: &Services, account: AccountKey, draft: &Draft) -> Result<Coming, AppError> {
    let request = reviewed(services, draft)
        .map_err(|message| invalid(vec![DraftFault { source: draft.source, message }], 1))?;
    Ok(request.into_coming(services, account).arrived())
}

async fn group(
    services: &Services,
    account: AccountKey,
    ids: &[RequestId],
    terms: Terms,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    let requests_ids = ids.iter().map(ToString::to_string).collect();
    let Terms { webhook, metadata } = terms;
    let input = batches::Input { requests_ids, webhook, metadata: Some(metadata) };
    batches::make(services, account, input, guard).await
}

/// The batch that the same form created before.
async fn first(services: &Services, account: AccountKey, id: BatchId) -> Result<BatchRecord, AppError> {
    batches::find(services, account, id).await.map(|(_, batch)| batch)
}

fn write_id(batch: &BatchRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(batch.id.to_string().as_bytes());
}

/// Cancels requests, retrying as long as the store is unavailable.
async fn take_back(services: &Services, account: AccountKey, ids: Vec<RequestId>) {
    let shared = services.clone();
    let taken_back = tasks::spawn(async move {
        for some in ids.chunks(CANCELS_AT_ONCE) {
            let cancel = |some| cancel_all(&shared, account, some);
            write_with_retry(&shared.clock, "requests that are taken back", some.into(), cancel).await;
        }
    });
    tokio::select! {
        _ = taken_back => {}
        () = services.clock.sleep_until(services.clock.now() + PATIENCE_MS) => {}
    }
}

async fn cancel_all(
    services: &Services,
    account: AccountKey,
    ids: Arc<[RequestId]>,
) -> Result<Vec<bool>, StoreError> {
    let now = services.clock.now();
    let cancels = ids.iter().map(|id| requests::cancel(&services.store, account, *id, now));
    let mut cancelled = Vec::with_capacity(ids.len());
    for outcome in join_all(cancels).await {
        if let CancelOutcome::Cancelled { seq } = outcome? {
            services.signals.ended(&[seq]);
            cancelled.push(true);
        } else {
            cancelled.push(false);
        }
    }
    Ok(cancelled)
}
