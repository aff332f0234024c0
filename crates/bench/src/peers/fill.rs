//! Adds requests to a store through the store's own operations, hundreds to a transaction and without waiting for the disk.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use futures_util::future::try_join_all;
use overnight_app::Services;
use overnight_app::api_keys::{self, KeyDraft};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::RequestId;
use overnight_domain::json::Json;
use overnight_domain::money::TokenBound;
use overnight_domain::records::ClientFields;
use overnight_domain::scheduler::{AccountKey, Lease, ModelKey, Position, QueuePartition, ReplicaKey};
use overnight_domain::sort_key::SortKey;
use overnight_store::Durability;
use overnight_store::StoreError;
use overnight_store::batches::{self, NewBatch, NewBatchOutcome};
use overnight_store::identity::accounts;
use overnight_store::ledger::holds::{Admission, Hold};
use overnight_store::ledger::usage::{self, Names};
use overnight_store::queue::leases;
use overnight_store::queue::releases;
use overnight_store::queue::settle;
use overnight_store::queue::settle::{Ending, Settlement};
use overnight_store::queue::{self, KeyRange};
use overnight_store::requests;
use overnight_store::requests::NewRequest;
use serde::{Deserialize, Serialize};

use super::opening;
use crate::workload::{self, CreateBody};

const AT_ONCE: usize = 1_024;
const SAMPLE: usize = 1_000;
pub(super) const RUN: usize = 128;
const LOOK: u32 = 512;
const WINDOW_MS: i64 = 86_400_000;
const COST: i64 = 400;
/// The basis of a request's hold if it has a price.
const BOUND: TokenBound = TokenBound { input: 560, output: 200 };

/// The state of the filled requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Queued,
    /// They have their results, in the order of the queue.
    Completed,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Filled {
    pub(crate) requests: usize,
    /// Identifiers of some of them, from the first to the last.
    pub(crate) sample: Vec<String>,
}

/// See [`super::Peer::Fill`].
pub(super) struct Filling {
    pub(super) requests: usize,
    pub(super) stage: Stage,
    pub(super) webhook: Option<String>,
    pub(super) is_batch: bool,
    pub(super) age_ms: i64,
}

pub(super) async fn run(config: PathBuf, filling: Filling) -> io::Result<Filled> {
    let services = opening::open(config, Durability::ProcessOnly).await?;
    let api_key = make_key(&services).await?;
    let filled = fill(&services, api_key, &filling).await.map_err(io::Error::other);
    services.store.close().await;
    filled.map(|sample| Filled { requests: filling.requests, sample })
}

pub(super) async fn partition(services: &Services) -> Result<QueuePartition, StoreError> {
    let account = accounts::list(&services.store).await?.first().map_or(AccountKey(1), |account| account.key);
    let model = services.models().iter().next().map_or(ModelKey(1), |model| model.key);
    Ok(QueuePartition { model, account })
}

/// Creates an API key of the only account for all requests, so that their settles count for it too; returns its row.
async fn make_key(services: &Services) -> io::Result<i64> {
    let accounts = accounts::list(&services.store).await.map_err(io::Error::other)?;
    let account = accounts.first().ok_or_else(|| io::Error::other("there is no account"))?;
    let made = api_keys::create(services, account.id, KeyDraft::PLAIN).await.map_err(io::Error::other)?;
    let names = Names { model: None, api_key: Some(made.record.id) };
    let rows = usage::find_rows(&services.store, account.key, names).await.map_err(io::Error::other)?;
    rows.map(|(_, api_key)| api_key).ok_or_else(|| io::Error::other("the key was not made"))
}

async fn fill(services: &Services, api_key: i64, filling: &Filling) -> Result<Vec<String>, StoreError> {
    let &Filling { requests, stage, ref webhook, is_batch, age_ms } = filling;
    let partition = partition(services).await?;
    let now = || services.clock.now() - age_ms;
    let mut ids = Vec::with_capacity(requests);
    for first in (0..requests).step_by(AT_ONCE) {
        let numbers = first..requests.min(first + AT_ONCE);
        let new = NewRequests { partition, api_key, webhook: webhook.as_deref(), now: now() };
        ids.extend(create(services, new, numbers).await?);
        releases::release(&services.store, now(), u32::MAX).await?;
    }
    if is_batch {
        group(services, partition.account, &ids).await?;
    }
    if stage == Stage::Completed {
        complete(services, partition, now).await?;
        // As the service does each minute.
        requests::unmark_ended(&services.store).await?;
    }
    Ok(ids.iter().step_by(requests.div_ceil(SAMPLE)).map(ToString::to_string).collect())
}

/// What the requests of a group have in common.
struct NewRequests<'w> {
    partition: QueuePartition,
    api_key: i64,
    webhook: Option<&'w str>,
    now: i64,
}

async fn create(
    services: &Services,
    new: NewRequests<'_>,
    numbers: std::ops::Range<usize>,
) -> Result<Vec<RequestId>, StoreError> {
    let NewRequests { partition, api_key, webhook, now } = new;
    let mut body = CreateBody::new();
    let secret = services.store.sort_key_secret();
    let price = services.models().get(partition.model).and_then(|model| model.price);
    let hold = price.map(|(price, pricing)| Hold { amount: pricing.hold(BOUND), price });
    let new = numbers.map(|number| {
        let body = body.chat(number).to_vec();
        let client = ClientFields { webhook: webhook.map(str::to_owned), ..ClientFields::absent() };
        let sort_key = Json::from_stored(&body).map(|body| SortKey::compute(secret, body));
        NewRequest {
            id: services.ids.next(now),
            account: partition.account,
            model: partition.model,
            alias: None,
            created_at: now,
            expires_at: now + WINDOW_MS,
            ready_at: now,
            sort_key: sort_key.unwrap_or_else(|_| SortKey::from_bytes(&[])),
            cost: COST,
            hold,
            max_tokens: None,
            fifo_hit_permille: None,
            trace: None,
            api_key: Some(api_key),
            endpoint: Endpoint::ChatCompletions,
            batch: None,
            client,
            body: body.into(),
        }
    });
    let new: Vec<NewRequest> = new.collect();
    let ids = new.iter().map(|request| request.id).collect();
    let inserts = new.into_iter().map(|request| requests::insert(&services.store, request));
    let admissions = try_join_all(inserts).await?;
    // With fewer requests, the measurement would be another.
    assert!(admissions.iter().all(|it| *it == Admission::Taken), "a request was refused: {admissions:?}");
    Ok(ids)
}

async fn group(services: &Services, account: AccountKey, ids: &[RequestId]) -> Result<(), StoreError> {
    let mut members = Vec::with_capacity(ids.len());
    for some in ids.chunks(AT_ONCE) {
        members.extend(batches::resolve(&services.store, account, some).await?);
    }
    let created_at = services.clock.now();
    let id = services.ids.next(created_at);
    let batch = NewBatch { id, account, created_at, webhook: None, metadata: None, members };
    let made = batches::insert(&services.store, batch).await?;
    assert!(matches!(made, NewBatchOutcome::Created(_)), "the batch was refused: {made:?}");
    Ok(())
}

/// Leases and settles all requests in key order, run by run.
async fn complete(
    services: &Services,
    partition: QueuePartition,
    now: impl Fn() -> i64,
) -> Result<(), StoreError> {
    let completion = Bytes::from(workload::completion());
    let mut after: Option<Position> = None;
    loop {
        let now = now();
        let range = KeyRange { after: after.as_ref(), until: None };
        let (found, reached_end) =
            queue::look(&services.store, partition, ReplicaKey(0), range, LOOK, now).await?;
        after = found.last().map(|candidate| candidate.position.clone());
        for run in found.chunks(RUN) {
            let positions = run.iter().map(|candidate| candidate.position.clone()).collect();
            let leased = leases::take(&services.store, partition, positions, now).await?;
            let settlements = leased.leases.iter().map(|lease| settlement(lease, &completion, now));
            try_join_all(settlements.map(|settlement| settle::settle(&services.store, settlement))).await?;
        }
        if reached_end {
            return Ok(());
        }
    }
}

fn settlement(lease: &Lease, completion: &Bytes, now: i64) -> Settlement {
    Settlement {
        lease: lease.clone(),
        ending: Ending::Completed { prompt_tokens: 240, completion_tokens: 180 },
        body: completion.clone(),
        warnings: None,
        now,
        attempt: None,
        engine: None,
    }
}
