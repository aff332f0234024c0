//! Grouping requests into a batch.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::store::events::lane_of;
use crate::store::database::{Bulk, Dialect, Kind, Row, Value, sql, sql_each};
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

pub(in crate::store) static RESOLVE: Bulk = Bulk {
    sqlite: "SELECT r.id, r.seq, p.batch FROM requests r JOIN progress p ON p.seq = r.seq
         WHERE r.account = ?1 AND r.id = ?2",
    postgres: "SELECT r.id, r.seq, p.batch FROM requests r JOIN progress p ON p.seq = r.seq
         WHERE r.account = $1 AND r.id = ANY ($2::bytea[])",
    columns: &[Kind::Bytes],
};

/// Which of `ids` are requests of `account`, in no particular order.
pub async fn resolve(
    store: &Store,
    account: AccountKey,
    ids: &[RequestId],
) -> Result<Vec<Member>, StoreError> {
    let ids = ids.iter().map(|id| Value::from(*id)).collect();
    let rows = store.readers().fetch_all(RESOLVE.over([account.0.into()], ids)).await?;
    let read = |row: &Row| {
        let is_taken = row.get::<Option<i64>>(2)?.is_some();
        Ok(Member { id: row.get(0)?, seq: row.get(1)?, is_taken })
    };
    rows.iter().map(read).collect()
}

/// Builds the texts over a list of requests: JSON for SQLite, an array for PostgreSQL. `CROSS` keeps the list outermost:
/// walked for each request of the account instead, it would be read anew each time.
macro_rules! over_list {
    ($head:expr, $tail:expr) => {
        (
            concat!($head, "json_each(?) j CROSS JOIN progress p", $tail),
            concat!($head, "unnest(?::bigint[]) AS j(value) JOIN progress p", $tail),
        )
    };
}

/// How many of a list of requests may be grouped, by state.
pub(in crate::store) const FREE: (&str, &str) = over_list!(
    concat!("SELECT ", row::state!(), " AS state, count(*) FROM "),
    concat!(" ON p.seq = j.value", row::queue_join!(), "WHERE p.account = ? AND p.batch IS NULL GROUP BY 1")
);
pub(in crate::store) const JOIN: (&str, &str) = (
    "UPDATE progress SET batch = ? WHERE seq IN (SELECT value FROM json_each(?))",
    "UPDATE progress SET batch = ? WHERE seq = ANY (?::bigint[])",
);
pub(in crate::store) const JOIN_IN_QUEUE: (&str, &str) = over_list!(
    "UPDATE queue SET batch = ? WHERE (model, account, sort_key, seq) IN
     (SELECT p.model, p.account, p.sort_key, p.seq FROM ",
    " ON p.seq = j.value WHERE p.state = 1)"
);

/// Keeps others from starting or ending a list of requests: those in the queue, and then all of them.
const LOCK_IN_QUEUE: &str = concat!(
    "SELECT count(*) FROM (SELECT 1 FROM unnest(?::bigint[]) AS j(value) JOIN progress p ON p.seq = j.value ",
    "JOIN queue q ON q.model = p.model AND q.account = p.account AND q.sort_key = p.sort_key AND q.seq = p.seq ",
    "FOR UPDATE OF q) locked"
);
const LOCK: &str = "SELECT count(*) FROM
    (SELECT 1 FROM progress WHERE seq = ANY (?::bigint[]) ORDER BY seq FOR UPDATE) locked";

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
        let mut counters = Counters::default();
        self.lock(unit).await?;
        let over = |texts: (&'static str, &'static str)| sql_each(texts.0, texts.1);
        let seqs = self.seqs(unit.tx.dialect());
        for found in unit.tx.fetch(over(FREE).bind(seqs.clone()).bind(self.account.0)).await? {
            *counters.of(row::status(found.get(0)?)?) += found.get::<i64>(1)?;
        }
        if counters.total() != self.members.len() as i64 {
            return Ok(NewBatchOutcome::Changed);
        }
        let state = BatchState::new(&counters, self.created_at);
        let batch = self.insert(unit, &counters, &state).await?;
        if state.completed_at().is_some() {
            unit.outbox.batch_ended(batch, EventKind::BatchCompleted, self.lane(), self.created_at);
        }
        unit.tx.execute(over(JOIN).bind(batch).bind(seqs.clone())).await?;
        unit.tx.execute(over(JOIN_IN_QUEUE).bind(batch).bind(seqs)).await?;
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

    fn lane(&self) -> Option<i64> {
        lane_of(self.account, self.webhook.as_deref())
    }

    /// Their numbers, as the database takes a list.
    fn seqs(&self, dialect: Dialect) -> Value {
        // Everybody locks in this order.
        let mut seqs: Vec<i64> = self.members.iter().map(|member| member.seq).collect();
        seqs.sort_unstable();
        match dialect {
            Dialect::Sqlite => {
                let seqs: Vec<String> = seqs.iter().map(i64::to_string).collect();
                Value::from(format!("[{}]", seqs.join(",")).as_str())
            }
            Dialect::Postgres => Value::from(seqs),
        }
    }

    /// From here on the states of the requests stay as they are until the batch is stored: SQLite has one writer, and on
    /// PostgreSQL their rows are locked. What a release moved into the queue before its row was locked is locked there
    /// by a second pass.
    async fn lock(&self, unit: &mut Unit<'_>) -> Result<(), StoreError> {
        if unit.tx.dialect() == Dialect::Postgres {
            for text in [LOCK_IN_QUEUE, LOCK, LOCK_IN_QUEUE] {
                unit.tx.fetch(sql(text).bind(self.seqs(Dialect::Postgres))).await?;
            }
        }
        Ok(())
    }

    async fn insert(
        &self,
        unit: &mut Unit<'_>,
        counters: &Counters,
        state: &BatchState,
    ) -> Result<i64, StoreError> {
        let text = "INSERT INTO batches (id, account, created_at, in_progress_at, completed_at,
                           registered, in_progress, completed, failed, cancelled, webhook, metadata, lane)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq";
        let insert = sql(text)
            .bind(self.id.to_bytes())
            .bind(self.account.0)
            .bind(self.created_at)
            .bind(state.in_progress_at())
            .bind(state.completed_at())
            .bind(counters.registered)
            .bind(counters.in_progress)
            .bind(counters.completed)
            .bind(counters.failed)
            .bind(counters.cancelled)
            .bind(self.webhook.clone())
            .bind(self.metadata.clone())
            .bind(self.lane());
        let rows = unit.tx.fetch(insert).await?;
        rows.first().ok_or(StoreError::Damaged("an inserted batch"))?.get(0)
    }

    async fn insert_members(&self, unit: &mut Unit<'_>, batch: i64) -> Result<(), StoreError> {
        for (place, members) in (0i64..).zip(self.members.chunks(IDS_PER_ROW)) {
            let ids: Vec<u8> = members.iter().flat_map(|member| member.id.to_bytes()).collect();
            let text = "INSERT INTO batch_members (batch, place, ids) VALUES (?, ?, ?)";
            unit.tx.execute(sql(text).bind(batch).bind(place).bind(ids)).await?;
        }
        Ok(())
    }
}
