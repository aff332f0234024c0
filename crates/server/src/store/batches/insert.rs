//! Grouping requests into a batch.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use sqlx::Row;

use crate::store::rows::{RowsStatement, chunks};
use crate::store::writer::{Job, Lane, Operation, Unit};
use crate::store::{Store, StoreError, row};

pub(super) const IDS_PER_ROW: usize = 512;

/// What a reader found of an id that is to be grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// The request.
    pub id: RequestId,
    /// Its row number.
    pub seq: i64,
    /// Whether a batch has it already.
    pub is_taken: bool,
}

/// A batch to be made, with its requests in the order they were sent.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// Its identifier.
    pub id: BatchId,
    /// Who makes it.
    pub account: AccountKey,
    /// When, in milliseconds.
    pub created_at: i64,
    /// Where to tell of its end.
    pub webhook: Option<String>,
    /// A JSON object, or `None` for null.
    pub metadata: Option<Vec<u8>>,
    /// Its requests, as [`resolve`] found them.
    pub members: Vec<Member>,
}

/// What became of a new batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBatchOutcome {
    /// It is stored.
    Created(BatchRecord),
    /// Another batch took one of the requests since they were resolved; nothing was grouped.
    Changed,
}

pub(in crate::store) static RESOLVE: RowsStatement = RowsStatement::new(
    "SELECT r.id, r.seq, p.batch IS NOT NULL FROM requests r JOIN progress p ON p.seq = r.seq
     WHERE r.account = ? AND r.id IN (VALUES",
    1,
    ")",
);

/// Which of `ids` are requests of `account`, in no particular order.
pub async fn resolve(
    store: &Store,
    account: AccountKey,
    ids: &[RequestId],
) -> Result<Vec<Member>, StoreError> {
    let mut members = Vec::with_capacity(ids.len());
    for chunk in chunks(ids) {
        let statement = RESOLVE.of(chunk.len()).bind(account.0);
        let statement = chunk.iter().fold(statement, |statement, id| statement.bind(id.to_bytes().to_vec()));
        for row in store.readers().fetch_all(statement).await? {
            let id = RequestId::from_bytes(row.try_get(0)?).ok_or(StoreError::Damaged("a request's id"))?;
            members.push(Member { id, seq: row.try_get(1)?, is_taken: row.try_get(2)? });
        }
    }
    Ok(members)
}

/// How many of a list of requests may be grouped, by state. `CROSS` keeps the list outermost: walked for each request
/// of the account instead, it would be read anew each time.
pub(in crate::store) const FREE: &str = concat!(
    "SELECT ",
    row::state!(),
    " AS state, count(*) FROM json_each(?) j CROSS JOIN progress p ON p.seq = j.value",
    row::queue_join!(),
    "WHERE p.account = ? AND p.batch IS NULL GROUP BY 1"
);
pub(in crate::store) const JOIN: &str =
    "UPDATE progress SET batch = ? WHERE seq IN (SELECT value FROM json_each(?))";

/// Stores a batch, with all of its requests or not at all.
pub async fn insert(store: &Store, batch: NewBatch) -> Result<NewBatchOutcome, StoreError> {
    store.writer().write(batch).await
}

impl Operation for NewBatch {
    type Answer = NewBatchOutcome;
    const LANE: Lane = Lane::Intake;

    fn rows(&self) -> usize {
        self.members.len()
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.members.len() * size_of::<Member>()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<NewBatchOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.group(unit).await?);
        }
        Ok(answers)
    }
}

impl NewBatch {
    async fn group(&self, unit: &mut Unit<'_>) -> Result<NewBatchOutcome, StoreError> {
        let seqs = self.members.iter().map(|member| member.seq.to_string()).collect::<Vec<_>>().join(",");
        let seqs = format!("[{seqs}]");
        let mut counters = Counters::default();
        for found in unit.tx.fetch(sqlx::query(FREE).bind(&seqs).bind(self.account.0)).await? {
            *counters.of(row::status(found.try_get(0)?)?) += found.try_get::<i64, _>(1)?;
        }
        if counters.total() != self.members.len() as i64 {
            return Ok(NewBatchOutcome::Changed);
        }
        let state = BatchState::new(&counters, self.created_at);
        let batch = self.insert(unit, &counters, &state).await?;
        unit.tx.execute(sqlx::query(JOIN).bind(batch).bind(&seqs)).await?;
        self.insert_members(unit, batch).await?;
        Ok(NewBatchOutcome::Created(BatchRecord {
            id: self.id,
            state,
            counters,
            created_at: self.created_at,
            webhook: self.webhook.clone(),
            metadata: self.metadata.clone(),
        }))
    }

    async fn insert(
        &self,
        unit: &mut Unit<'_>,
        counters: &Counters,
        state: &BatchState,
    ) -> Result<i64, StoreError> {
        let text = "INSERT INTO batches (id, account, created_at, in_progress_at, completed_at,
                           registered, in_progress, completed, failed, cancelled, webhook, metadata)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq";
        let insert = sqlx::query(text)
            .bind(self.id.to_bytes().to_vec())
            .bind(self.account.0)
            .bind(self.created_at)
            .bind(state.in_progress_at())
            .bind(state.completed_at())
            .bind(counters.registered)
            .bind(counters.in_progress)
            .bind(counters.completed)
            .bind(counters.failed)
            .bind(counters.cancelled)
            .bind(&self.webhook)
            .bind(&self.metadata);
        let rows = unit.tx.fetch(insert).await?;
        Ok(rows.first().ok_or(StoreError::Damaged("an inserted batch"))?.try_get(0)?)
    }

    async fn insert_members(&self, unit: &mut Unit<'_>, batch: i64) -> Result<(), StoreError> {
        for (place, members) in (0i64..).zip(self.members.chunks(IDS_PER_ROW)) {
            let ids: Vec<u8> = members.iter().flat_map(|member| member.id.to_bytes()).collect();
            let text = "INSERT INTO batch_members (batch, place, ids) VALUES (?, ?, ?)";
            unit.tx.execute(sqlx::query(text).bind(batch).bind(place).bind(ids)).await?;
        }
        Ok(())
    }
}
