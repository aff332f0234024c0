//! The end of a leased request: guard first, then write for the survivors only. A settle without a lease (cancelled, expired, voided,
//! leased again) has no effect.

pub(crate) mod postgres;
pub(crate) mod sqlite;

#[cfg(test)]
pub(crate) use self::postgres::end_by as end_on_postgres_by;
#[cfg(test)]
pub(crate) use self::sqlite::{END, HELD, LEAVE};

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::answers::Completion;
use overnight_domain::records::FailedAttempt;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::Lease;

use crate::database::{Dialect, Row};
use crate::effects::{AcceptedPrice, Completed, EndedRequest};
use crate::objects::table::{bytes_beside, use_for_results};
use crate::queue::attempts;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The body is the completion.
    Completed { prompt_tokens: i64, completion_tokens: i64 },
    /// Failed for good; the body is the error.
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    pub lease: Lease,
    pub ending: Ending,
    /// The `result_body`: JSON without white space outside strings.
    pub body: Bytes,
    /// A JSON array of a few hundred bytes; counts against no quota.
    pub warnings: Option<Bytes>,
    /// In milliseconds.
    pub now: i64,
    /// The attempt by which it failed.
    pub attempt: Option<FailedAttempt>,
    /// The engine replica that completed it, by its name in the settings.
    pub engine: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    batch: Option<i64>,
    accepted: AcceptedPrice,
    lane: Option<i64>,
    api_key: Option<i64>,
}

impl Held {
    /// Reads `batch, hold, input, output, lane, api_key`.
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            batch: row.get("batch")?,
            accepted: AcceptedPrice::read(row)?,
            lane: row.get("lane")?,
            api_key: row.get("api_key")?,
        })
    }
}

/// Request and epoch.
type LeaseName = (i64, i64);

/// Reads `seq, lease_epoch`.
fn read_name(row: &Row) -> Result<LeaseName, StoreError> {
    Ok((row.get("seq")?, row.get("lease_epoch")?))
}

impl Settlement {
    pub fn completed(lease: Lease, completion: Completion, now: i64) -> Self {
        let ending = Ending::Completed {
            prompt_tokens: i64::try_from(completion.usage.prompt_tokens).unwrap_or(i64::MAX),
            completion_tokens: i64::try_from(completion.usage.completion_tokens).unwrap_or(i64::MAX),
        };
        let body = completion.body.into_string().into();
        Self { lease, ending, body, warnings: None, now, attempt: None, engine: None }
    }

    #[must_use]
    pub fn with_warnings(self, warnings: Option<Bytes>) -> Self {
        Self { warnings, ..self }
    }

    #[must_use]
    pub fn by_engine(self, engine: Arc<str>) -> Self {
        Self { engine: Some(engine), ..self }
    }

    /// `body` is the error.
    pub fn failed(lease: Lease, body: Bytes, attempt: FailedAttempt, now: i64) -> Self {
        Self {
            lease,
            ending: Ending::Failed,
            body,
            warnings: None,
            now,
            attempt: Some(attempt),
            engine: None,
        }
    }

    /// The engine that completed it, or failed it last.
    fn engine_name(&self) -> Option<String> {
        let failed_by = || self.attempt.as_ref()?.engine.clone();
        self.engine.as_deref().map(str::to_owned).or_else(failed_by)
    }

    const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }

    const fn name(&self) -> LeaseName {
        (self.seq(), self.lease.epoch)
    }

    /// If its rows are not written, the transaction is undone, effects included.
    fn note_effects(&self, held: &Held, result: i64, ended_at: i64, write: &mut WriteTransaction<'_>) {
        let (partition, request, now) = (self.lease.key.partition, self.seq(), self.now);
        let ended = EndedRequest {
            seq: request,
            account: partition.account.0,
            batch: held.batch,
            lane: held.lane,
            hold: held.accepted.hold,
            result_bytes: self.body.len() as i64 + bytes_beside(&self.body),
            from: RequestStatus::InProgress,
            to: self.ending.status(),
            now,
            ended_at,
        };
        match self.ending {
            Ending::Failed => write.effects.ended(&ended),
            Ending::Completed { prompt_tokens, completion_tokens } => {
                let completed = Completed {
                    partition,
                    request,
                    result,
                    api_key: held.api_key,
                    prompt_tokens,
                    completion_tokens,
                    now,
                };
                write.effects.completed(&ended, completed, held.accepted);
            }
        }
    }
}

/// Stores the end of a leased request; `false` if the lease was no longer held.
pub async fn settle(store: &Store, settlement: Settlement) -> Result<bool, StoreError> {
    Ok(settle_all(store, [settlement].into()).await?.contains(&true))
}

/// In one transaction.
pub fn settle_all(
    store: &Store,
    settlements: Arc<[Settlement]>,
) -> BoxFuture<'_, Result<Vec<bool>, StoreError>> {
    async move {
        let settlements = stored(store, settlements).await?;
        let bodies: Vec<Bytes> = settlements.iter().map(|settlement| settlement.body.clone()).collect();
        let ended = store.writer().write(Settle { settlements }).await?;
        let unused = bodies.iter().zip(&ended).filter(|(_, ended)| !**ended);
        store.discard(unused.map(|(body, _)| body)).await;
        Ok(ended)
    }
    .boxed()
}

/// Encodes the answers of engines for storage. Errors stay readable: they are counted by their texts.
async fn stored(store: &Store, settlements: Arc<[Settlement]>) -> Result<Arc<[Settlement]>, StoreError> {
    let is_completed = |it: &Settlement| matches!(it.ending, Ending::Completed { .. });
    if !store.encrypts() && !settlements.iter().any(|it| is_completed(it) && store.is_large(&it.body)) {
        return Ok(settlements);
    }
    let mut all = settlements.to_vec();
    for settlement in all.iter_mut().filter(|it| is_completed(it)) {
        let (account, body) = (settlement.lease.key.partition.account, settlement.body.clone());
        settlement.body = store.stored_somewhere(account, body, settlement.now).await?;
    }
    Ok(all.into())
}

pub(crate) struct Settle {
    settlements: Arc<[Settlement]>,
}

impl Operation for Settle {
    type Answer = Vec<bool>;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::Settle;

    fn rows(&self) -> usize {
        self.settlements.len()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Vec<bool>>, StoreError> {
        let all = || jobs.iter().flat_map(|job| job.operation.settlements.iter());
        // The first of two ends of one lease counts.
        let mut names = HashSet::new();
        let distinct: Vec<&Settlement> = all().filter(|settlement| names.insert(settlement.name())).collect();
        let mut ended = match write.tx.dialect() {
            Dialect::Sqlite => sqlite::end(&distinct, write).await?,
            Dialect::Postgres => postgres::end(distinct.clone(), write).await?,
        };
        let stored = distinct.iter().filter(|settlement| ended.contains(&settlement.name()));
        let results = stored.map(|settlement| (settlement.seq(), &*settlement.body));
        use_for_results(results, &mut write.tx).await?;
        for settlement in distinct {
            if let Some(attempt) = settlement.attempt.as_ref().filter(|_| ended.contains(&settlement.name()))
            {
                attempts::record(write, &settlement.lease.key, attempt).await?;
            }
        }
        let mut settled = |settlement: &Settlement| ended.remove(&settlement.name());
        Ok(jobs.iter().map(|job| job.operation.settlements.iter().map(&mut settled).collect()).collect())
    }
}

impl Ending {
    const fn code(self) -> i64 {
        match self {
            Self::Completed { .. } => row::COMPLETED,
            Self::Failed => row::FAILED,
        }
    }

    const fn status(self) -> RequestStatus {
        match self {
            Self::Completed { .. } => RequestStatus::Completed,
            Self::Failed => RequestStatus::Failed,
        }
    }

    const fn tokens(self) -> Option<(i64, i64)> {
        match self {
            Self::Completed { prompt_tokens, completion_tokens } => Some((prompt_tokens, completion_tokens)),
            Self::Failed => None,
        }
    }
}
