//! Grouping requests into a batch.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::database::{Dialect, Row, Sql, Value, statements};
use crate::effects::Accounts;
use crate::idempotency_keys::{Claim, Claims, Guard, Guarded};
use crate::ledger::totals::{ROW_BYTES, webhook_bytes};
use crate::outbox::lane_of;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

pub(super) const IDS_PER_ROW: usize = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub id: RequestId,
    pub seq: i64,
    /// Whether another batch has it.
    pub is_taken: bool,
}

/// A new batch, with its requests in the order they were sent.
#[derive(Debug, Clone)]
pub struct NewBatch {
    pub id: BatchId,
    pub account: AccountKey,
    /// In milliseconds.
    pub created_at: i64,
    pub webhook: Option<String>,
    /// A JSON object.
    pub metadata: Option<Vec<u8>>,
    /// From [`resolve`].
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBatchOutcome {
    Created(BatchRecord),
    /// Another batch has taken one of the requests; none was grouped.
    Changed,
    /// The account is suspended or closed; no request was grouped.
    Suspended,
    /// No request was grouped.
    OverQuota(QuotaExceeded),
}

statements! {
    RESOLVE over [Bytes] = {
        sqlite: "SELECT r.id, r.seq, rs.batch FROM requests r JOIN request_states rs ON rs.seq = r.seq
            WHERE r.account = ?1 AND r.id = ?2",
        postgres: "SELECT r.id, r.seq, rs.batch FROM requests r JOIN request_states rs ON rs.seq = r.seq
            WHERE r.account = $1 AND r.id = ANY ($2::bytea[])",
    };
    /// Keeps others from starting or ending these requests: first those in the queue, then all. OFFSET 0 makes PostgreSQL look each row of a
    /// list up; otherwise it may join the list last.
    LOCK_IN_QUEUE over [Integer] = {
        postgres: "SELECT count(*) AS queued FROM (
            SELECT 1 FROM pg_catalog.unnest($1::bigint[]) AS j(value)
            CROSS JOIN LATERAL (SELECT model, account, sort_key, seq FROM request_states WHERE seq = j.value OFFSET 0) rs
            CROSS JOIN LATERAL (SELECT 1 FROM queue q
                WHERE q.model = rs.model AND q.account = rs.account AND q.sort_key = rs.sort_key AND q.seq = rs.seq
                FOR UPDATE) q) locked",
    };
    LOCK over [Integer] = {
        postgres: "SELECT count(CASE WHEN state = 1 /* queued */ THEN 1 END) AS queued FROM (
            SELECT state FROM request_states WHERE seq = ANY ($1::bigint[]) ORDER BY seq FOR UPDATE) locked",
    };
    /// How many requests of an account may be grouped, by state.
    FREE over [Integer] = {
        sqlite: "SELECT state, 1 AS count FROM current_states WHERE seq = ?2 AND account = ?1 AND batch IS NULL",
        postgres: "SELECT s.state, count(*) AS count FROM pg_catalog.unnest($2::bigint[]) AS j(value)
            CROSS JOIN LATERAL (SELECT state, account, batch FROM current_states WHERE seq = j.value OFFSET 0) s
            WHERE s.account = $1 AND s.batch IS NULL GROUP BY s.state",
    };
    JOIN over [Integer] = {
        sqlite: "UPDATE request_states SET batch = ?1 WHERE seq = ?2",
        postgres: "UPDATE request_states SET batch = $1 WHERE seq = ANY ($2::bigint[])",
    };
    JOIN_IN_QUEUE over [Integer] = {
        sqlite: "UPDATE queue SET batch = ?1 WHERE (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM request_states rs WHERE rs.seq = ?2 AND rs.state = 1 /* queued */)",
        postgres: "UPDATE queue SET batch = $1 WHERE (model, account, sort_key, seq) IN (
            SELECT rs.model, rs.account, rs.sort_key, rs.seq FROM pg_catalog.unnest($2::bigint[]) AS j(value)
            JOIN request_states rs ON rs.seq = j.value WHERE rs.state = 1 /* queued */)",
    };
    /// Numbers of deleted batches are not reused.
    INSERT = {
        sqlite: "INSERT INTO batches (seq, id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM batches),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'batches')),
                    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        postgres: "INSERT INTO batches (id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
    };
    /// The places of a batch's rows rise; if a file fills it, they have gaps.
    INSERT_MEMBERS = "INSERT INTO batch_members (batch, place, ids) VALUES (?, ?, ?)";
}

/// Which of `ids` are the account's requests, in no order.
pub async fn resolve(
    store: &Store,
    account: AccountKey,
    ids: &[RequestId],
) -> Result<Vec<Member>, StoreError> {
    let ids = ids.iter().map(|id| Value::from(*id)).collect();
    let rows = store.readers().fetch_all(RESOLVE.over([account.0.into()], ids)).await?;
    let read = |row: &Row| {
        let is_taken = row.get::<Option<i64>>("batch")?.is_some();
        Ok(Member { id: row.get("id")?, seq: row.get("seq")?, is_taken })
    };
    rows.iter().map(read).collect()
}

/// All of its requests are grouped, or none.
pub async fn insert(store: &Store, batch: NewBatch) -> Result<NewBatchOutcome, StoreError> {
    store.writer().write(InsertBatch { batch, guard: None }).await?.into_done()
}

/// As [`insert`], once for all calls with the key of the guard.
pub async fn insert_once(
    store: &Store,
    batch: NewBatch,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Guarded<NewBatchOutcome>, StoreError> {
    store.writer().write(InsertBatch { batch, guard }).await
}

struct InsertBatch {
    batch: NewBatch,
    guard: Option<Guard<BatchRecord>>,
}

impl Operation for InsertBatch {
    type Answer = Guarded<NewBatchOutcome>;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewBatch;

    fn rows(&self) -> usize {
        self.batch.members.len()
    }

    fn account(&self) -> Option<AccountKey> {
        Some(self.batch.account)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.batch.members.len() * size_of::<Member>() + self.batch.texts_bytes()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Guarded<NewBatchOutcome>>, StoreError> {
        let operations: Vec<&Self> = jobs.iter().map(|job| &job.operation).collect();
        // Every node locks batches, then keys, then requests, and accounts last.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let claims = operations.iter().map(|operation| operation.claim()).collect();
        let claims = Claims::take(claims, &mut write.tx).await?;
        let first = claims.first();
        let batches = || first.iter().filter_map(|&place| Some(&operations.get(place)?.batch));
        for batch in batches() {
            batch.lock(write).await?;
        }
        let now = batches().map(|batch| (batch.account.0, batch.created_at)).collect();
        let mut accounts =
            Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
        let mut outcomes = Vec::with_capacity(first.len());
        for batch in batches() {
            outcomes.push(batch.group(&mut accounts, write).await?);
        }
        let response = |place: usize, outcome: &NewBatchOutcome| match outcome {
            NewBatchOutcome::Created(record) => Some(operations.get(place)?.guard.as_ref()?.response(record)),
            NewBatchOutcome::Changed | NewBatchOutcome::Suspended | NewBatchOutcome::OverQuota(_) => None,
        };
        let ledger = &mut write.effects.ledger;
        let count = |account, bytes| ledger.store_bytes(account, bytes);
        claims.end(outcomes, response, count, &mut write.tx).await
    }
}

impl InsertBatch {
    fn claim(&self) -> Option<Claim> {
        let Self { batch: NewBatch { account, created_at, .. }, guard } = self;
        guard.as_ref().map(|guard| Claim { account: *account, key: guard.key, created_at: *created_at })
    }
}

impl NewBatch {
    async fn group(
        &self,
        accounts: &mut Accounts,
        write: &mut WriteTransaction<'_>,
    ) -> Result<NewBatchOutcome, StoreError> {
        let mut counters = Counters::default();
        let seqs = self.seqs();
        for found in write.tx.fetch(FREE.over([self.account.into()], seqs.clone())).await? {
            *counters.of(row::status(found.get("state")?)?) += found.get::<i64>("count")?;
        }
        if counters.total() != self.members.len() as i64 {
            return Ok(NewBatchOutcome::Changed);
        }
        if accounts.is_suspended(self.account.0)? {
            return Ok(NewBatchOutcome::Suspended);
        }
        let bytes = self.stored_bytes();
        if let Err(exceeded) = accounts.admit_bytes(self.account.0, bytes, self.created_at)? {
            return Ok(NewBatchOutcome::OverQuota(exceeded));
        }
        let state = BatchState::new(&counters, self.created_at);
        let batch = self.insert(write, &counters, &state).await?;
        if state.completed_at().is_some() {
            write.effects.batch_ended(batch, EventKind::BatchCompleted, self.lane(), self.created_at);
        }
        write.tx.execute(JOIN.over([batch.into()], seqs.clone())).await?;
        write.tx.execute(JOIN_IN_QUEUE.over([batch.into()], seqs)).await?;
        self.insert_members(write, batch).await?;
        write.effects.ledger.store_bytes(self.account.0, bytes);
        Ok(NewBatchOutcome::Created(self.record(&counters, &state)))
    }

    pub(super) fn record(&self, counters: &Counters, state: &BatchState) -> BatchRecord {
        BatchRecord {
            id: self.id,
            state: *state,
            counters: *counters,
            created_at: self.created_at,
            webhook: self.webhook.clone(),
            metadata: self.metadata.clone(),
        }
    }

    pub(super) fn lane(&self) -> Option<i64> {
        lane_of(self.account, self.webhook.as_deref())
    }

    pub(super) fn texts_bytes(&self) -> usize {
        self.metadata.as_ref().map_or(0, Vec::len) + self.webhook.as_ref().map_or(0, String::len)
    }

    pub(super) fn stored_bytes(&self) -> i64 {
        let metadata = self.metadata.as_ref().map_or(0, Vec::len) as i64;
        ROW_BYTES + metadata + webhook_bytes(self.webhook.as_deref()) + 16 * self.members.len() as i64
    }

    fn seqs(&self) -> Vec<Value> {
        // Every node locks in this order.
        let mut seqs: Vec<i64> = self.members.iter().map(|member| member.seq).collect();
        seqs.sort_unstable();
        seqs.into_iter().map(Value::from).collect()
    }

    /// From here on the states of the requests stay the same until the batch is stored: SQLite has one writer, and on PostgreSQL their rows
    /// are locked. A second pass locks requests that a release queued before their row was locked.
    async fn lock(&self, write: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
        if write.tx.dialect() == Dialect::Postgres
            && self.lock_by(&LOCK_IN_QUEUE, write).await? < self.lock_by(&LOCK, write).await?
        {
            self.lock_by(&LOCK_IN_QUEUE, write).await?;
        }
        Ok(())
    }

    /// How many of its requests are in the queue.
    async fn lock_by(&self, lock: &Sql, write: &mut WriteTransaction<'_>) -> Result<i64, StoreError> {
        let rows = write.tx.fetch(lock.over([], self.seqs())).await?;
        rows.iter().map(|row| row.get::<i64>("queued")).sum()
    }

    pub(super) async fn insert(
        &self,
        write: &mut WriteTransaction<'_>,
        counters: &Counters,
        state: &BatchState,
    ) -> Result<i64, StoreError> {
        let insert = INSERT
            .bind(self.id)
            .bind(self.account)
            .bind(self.created_at)
            .bind(state.in_progress_at())
            .bind(state.completed_at())
            .bind(state.cancelled_at())
            .bind(counters.registered)
            .bind(counters.in_progress)
            .bind(counters.completed)
            .bind(counters.failed)
            .bind(counters.cancelled)
            .bind(self.webhook.clone())
            .bind(self.metadata.clone())
            .bind(self.lane());
        let rows = write.tx.fetch(insert).await?;
        rows.first().ok_or(StoreError::Damaged("an inserted batch"))?.get("seq")
    }

    async fn insert_members(&self, write: &mut WriteTransaction<'_>, batch: i64) -> Result<(), StoreError> {
        for (place, members) in (0i64..).zip(self.members.chunks(IDS_PER_ROW)) {
            let ids: Vec<u8> = members.iter().flat_map(|member| member.id.to_bytes()).collect();
            write.tx.execute(INSERT_MEMBERS.bind(batch).bind(place).bind(ids)).await?;
        }
        Ok(())
    }
}
