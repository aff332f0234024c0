//! The row of a new batch.

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::ids::{BatchId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Value, statements};
use crate::ledger::totals::{ROW_BYTES, webhook_bytes};
use crate::outbox::lane_of;
use crate::writes::WriteTransaction;
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    pub id: RequestId,
    pub seq: i64,
    pub membership: Membership,
}

/// The batch of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Membership {
    None,
    /// It may still turn out that this batch cannot be created.
    InNewBatch,
    InBatch,
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

statements! {
    RESOLVE over [Bytes] = {
        sqlite: "SELECT r.id, r.seq, rs.batch, b.grouping_at FROM requests r JOIN request_states rs ON rs.seq = r.seq
            LEFT JOIN batches b ON b.seq = rs.batch WHERE r.account = ?1 AND r.id = ?2",
        postgres: "SELECT r.id, r.seq, rs.batch, b.grouping_at FROM requests r JOIN request_states rs ON rs.seq = r.seq
            LEFT JOIN batches b ON b.seq = rs.batch WHERE r.account + 0 = $1 AND r.id = ANY ($2::bytea[])",
    };
    /// Numbers of deleted batches are not reused.
    INSERT = {
        sqlite: "INSERT INTO batches (seq, id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane, grouping_at)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM batches),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'batches')),
                    ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
        postgres: "INSERT INTO batches (id, account, created_at, in_progress_at, completed_at, cancelled_at,
               registered, in_progress, completed, failed, cancelled, webhook, metadata, lane, grouping_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq",
    };
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
        let membership = match (row.get::<Option<i64>>("batch")?, row.get::<Option<i64>>("grouping_at")?) {
            (None, _) => Membership::None,
            (Some(_), None) => Membership::InBatch,
            (Some(_), Some(_)) => Membership::InNewBatch,
        };
        Ok(Member { id: row.get("id")?, seq: row.get("seq")?, membership })
    };
    rows.iter().map(read).collect()
}

impl NewBatch {
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

    /// Hidden while its requests are being grouped.
    pub(super) const fn account_while(&self, grouping_at: Option<i64>) -> i64 {
        let AccountKey(account) = self.account;
        if grouping_at.is_some() { -account } else { account }
    }

    pub(super) fn lane_while(&self, grouping_at: Option<i64>) -> Option<i64> {
        self.lane().filter(|_| grouping_at.is_none())
    }

    pub(super) async fn insert(
        &self,
        write: &mut WriteTransaction<'_>,
        counters: &Counters,
        state: &BatchState,
        grouping_at: Option<i64>,
    ) -> Result<i64, StoreError> {
        let insert = INSERT
            .bind(self.id)
            .bind(self.account_while(grouping_at))
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
            .bind(self.lane_while(grouping_at))
            .bind(grouping_at);
        let rows = write.tx.fetch(insert).await?;
        rows.first().ok_or(StoreError::Damaged("an inserted batch"))?.get("seq")
    }
}
