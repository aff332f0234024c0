//! Writes as operations of the store, through the functions that use cases, the scheduler and the workers call.

use std::pin::Pin;
use std::sync::Arc;

use overnight_domain::batches::Counters;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::money::Credits;
use overnight_domain::quotas::Quota;
use overnight_domain::records::{ClientFields, FailedAttempt};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{Position, QueuePartition};
use overnight_store::batches::{self, CancelBatchOutcome, Member, NewBatch, NewBatchOutcome};
use overnight_store::ledger::holds::{Admission, Hold};
use overnight_store::queue::leases::{self, ReleaseLease};
use overnight_store::queue::settle::{self, Ending, Settlement};
use overnight_store::queue::{expiry, releases};
use overnight_store::requests::{self, CancelOutcome};
use overnight_store::{Store, StoreError, nodes};

use super::names::{Names, Shared, sort_key};
use super::writes::{
    Answer, Asked, End, METADATA, NewRequest, WEBHOOK, Write, attempt_message, request_body, result_body,
};

const ENGINE: &str = "gpu-0";
/// Older than any heartbeat by the database's clock.
const LEASE_MS: i64 = -60_000;

pub(super) type Operation = Pin<Box<dyn Future<Output = Result<Answer, StoreError>>>>;

/// What the caller of a write has read before.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// The requests to be grouped, in order.
    pub(super) members: Vec<Member>,
    pub(super) leases: Vec<(usize, i64)>,
}

/// Begins a write of `store`. It is in the writer's queue once it was polled.
pub(super) fn begin(store: Store, names: &Shared, read: &Read, asked: &Asked) -> Operation {
    let Asked { at, write } = asked.clone();
    let shared = names.clone();
    let names = names.get();
    match write {
        Write::Create(request, new) => {
            let new = new_request(&names, request, &new, at);
            Box::pin(async move { Ok(admission(requests::insert(&store, new).await?)) })
        }
        Write::Group { batch, account, has_webhook, .. } => {
            let new = NewBatch {
                id: names.batch_id(batch),
                account: names.accounts[account],
                created_at: at,
                webhook: has_webhook.then(|| WEBHOOK.to_owned()),
                metadata: Some(METADATA.into()),
                members: read.members.clone(),
            };
            Box::pin(async move { Ok(grouped(&batches::insert(&store, new).await?)) })
        }
        Write::Cancel { request } => {
            let (account, id) = (names.accounts[names.requests[&request].1], names.request_id(request));
            Box::pin(async move { Ok(cancelled(requests::cancel(&store, account, id, at).await?)) })
        }
        Write::CancelBatch { batch, account } => {
            let (account, id) = (names.accounts[account], names.batch_id(batch));
            Box::pin(async move { Ok(batch_cancelled(batches::cancel(&store, account, id, at).await?)) })
        }
        Write::CancelChunk { batch } => {
            let row = names.batches[&batch];
            Box::pin(async move {
                let ended = batches::cancel_chunk(&store, row, None, at).await?.ended;
                Ok(ends(&shared.get(), &ended))
            })
        }
        Write::Expire { limit, answer } => Box::pin(async move {
            let ended = expiry::expire(&store, at, limit, result_body(answer).into_bytes()).await?;
            Ok(ends(&shared.get(), &ended))
        }),
        Write::Release { limit } => Box::pin(release(store, shared, limit, at)),
        Write::Lease { account, model, requests } => {
            let positions = requests.iter().map(|request| names.position(*request)).collect();
            Box::pin(lease(store, shared, names.partition(account, model), positions, at))
        }
        Write::Settle(all) => {
            let all: Arc<[Settlement]> = all.iter().map(|end| settlement(&names, read, end, at)).collect();
            Box::pin(async move { Ok(Answer::Held(settle::settle_all(&store, all).await?)) })
        }
        Write::ReleaseLease { lease, counts } => {
            let lease = names.lease(read.leases[lease]);
            let release =
                ReleaseLease { lease, retry_at: at, attempt: counts.then(|| attempt(at)), suspect: counts };
            Box::pin(async move { Ok(Answer::Held(vec![leases::release_lease(&store, release).await?])) })
        }
        Write::Heartbeat => {
            Box::pin(async move { nodes::heartbeat(&store, at).await.map(|()| Answer::Done) })
        }
        Write::Reclaim => {
            Box::pin(async move { Ok(Answer::Reclaimed(nodes::reclaim_stale(&store, at, LEASE_MS).await?)) })
        }
        Write::Leave => Box::pin(async move { nodes::leave(&store).await.map(|()| Answer::Done) }),
    }
}

async fn release(store: Store, shared: Shared, limit: u32, at: i64) -> Result<Answer, StoreError> {
    let released = releases::release(&store, at, limit).await?;
    let names = shared.get();
    let key = |of: QueuePartition| (names.account(of.account), names.model(of.model));
    let added = released.added.iter().map(|it| (key(it.partition), it.count)).collect();
    Ok(Answer::Released(added, released.next_ready_at))
}

async fn lease(
    store: Store,
    shared: Shared,
    partition: QueuePartition,
    positions: Vec<Position>,
    at: i64,
) -> Result<Answer, StoreError> {
    let taken = leases::take(&store, partition, positions, at).await?;
    let names = shared.get();
    let leases = taken.leases.iter().map(|it| (names.request_at(it.key.position.seq), it.epoch)).collect();
    Ok(Answer::Leased(leases, taken.gone.iter().map(|seq| names.request_at(*seq)).collect()))
}

fn new_request(names: &Names, request: usize, new: &NewRequest, at: i64) -> requests::NewRequest {
    let NewRequest { account, model, ready_at, deadline, hold: amount, has_webhook } = *new;
    let webhook = has_webhook.then(|| WEBHOOK.to_owned());
    let hold = |(amount, price): (i64, usize)| Hold {
        amount: Credits::from_nanos(amount),
        price: names.prices[price],
    };
    requests::NewRequest {
        id: names.request_id(request),
        account: names.accounts[account],
        model: names.models[model],
        alias: None,
        created_at: at,
        expires_at: deadline,
        ready_at,
        sort_key: sort_key(request),
        cost: 10,
        hold: amount.map(hold),
        max_tokens: None,
        fifo_hit_permille: None,
        trace: None,
        api_key: None,
        endpoint: Endpoint::ChatCompletions,
        batch: None,
        client: ClientFields { webhook, ..ClientFields::absent() },
        body: request_body(request).into_bytes().into(),
    }
}

fn settlement(names: &Names, read: &Read, end: &End, now: i64) -> Settlement {
    let completed =
        |(prompt_tokens, completion_tokens)| Ending::Completed { prompt_tokens, completion_tokens };
    Settlement {
        lease: names.lease(read.leases[end.lease]),
        ending: end.tokens.map_or(Ending::Failed, completed),
        body: result_body(end.answer).into_bytes().into(),
        warnings: None,
        now,
        attempt: end.tokens.is_none().then(|| attempt(now)),
        engine: Some(ENGINE.into()),
    }
}

fn attempt(at: i64) -> FailedAttempt {
    FailedAttempt::new(at, Some(400), attempt_message(at))
}

fn admission(admission: Admission) -> Answer {
    match admission {
        Admission::Taken => Answer::Taken,
        Admission::OverQuota(exceeded) if exceeded.quota == Quota::LiveRequests => Answer::OverQuota,
        // No account of the model is suspended.
        Admission::Suspended | Admission::OverQuota(_) => Answer::Done,
        Admission::InsufficientCredits { available, .. } => {
            Answer::InsufficientCredits { available: available.nanos() }
        }
    }
}

fn grouped(outcome: &NewBatchOutcome) -> Answer {
    match outcome {
        NewBatchOutcome::Created(record) => Answer::Grouped(by_status(record.counters)),
        NewBatchOutcome::Changed | NewBatchOutcome::Suspended => Answer::Changed,
        NewBatchOutcome::OverQuota(_) => Answer::OverQuota,
    }
}

/// In the order of a request's life.
pub(super) fn by_status(mut counters: Counters) -> [i64; 5] {
    RequestStatus::ALL.map(|status| *counters.of(status))
}

fn cancelled(outcome: CancelOutcome) -> Answer {
    match outcome {
        CancelOutcome::Unknown => Answer::Done,
        CancelOutcome::Cancelled { .. } => Answer::Cancelled,
        CancelOutcome::AlreadyEnded(status) => Answer::AlreadyEnded(status),
    }
}

const fn batch_cancelled(outcome: CancelBatchOutcome) -> Answer {
    match outcome {
        CancelBatchOutcome::Unknown => Answer::Done,
        CancelBatchOutcome::Marked { .. } => Answer::Marked,
        CancelBatchOutcome::Cancelled => Answer::BatchCancelled,
        CancelBatchOutcome::AlreadyCompleted => Answer::BatchCompleted,
    }
}

fn ends(names: &Names, seqs: &[i64]) -> Answer {
    Answer::Ended(seqs.iter().map(|seq| names.request_at(*seq)).collect())
}
