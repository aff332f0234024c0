//! What the groups of the writer know of the nouns: the order of their writes, and the transaction that each write is given,
//! with the row numbers that it hands out and its effects.

use std::sync::Arc;

use overnight_domain::quotas::Quotas;
use tokio::sync::watch;

use crate::store::batch_watches::BatchWatches;
use crate::store::database::{CommitError, Connection, Dialect, Numbered, Tx, statements};
use crate::store::effects::{AfterCommit, Effects, EventContext};
use crate::store::error::StoreError;

statements! {
    DRAW_RESULTS = { postgres: "SELECT nextval('results_seq_seq') AS seq FROM generate_series(1, ?)" };
}

/// When a group does a write: one of each operation, whose `impl Operation` stands in the file of its noun (`Settle` in
/// `queue/settle/mod.rs`, `NewRequest` in `requests/insert.rs`). The writer knows no operation, and no operation another.
///
/// A batch is marked as deleted before anything of this group ends one, so that the event of its end is stored and goes with it.
/// Settles come before cancels, so that work that was done is kept. Intake comes last: a create reads what its account has,
/// with what this group releases, and locks accounts, which every node locks last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum WriteOrder {
    Heartbeat,
    DeleteBatch,
    Settle,
    CancelRequest,
    CancelBatch,
    CancelChunk,
    CancelAccountChunk,
    Expire,
    ReleaseLease,
    ReclaimLeases,
    LeaseRun,
    RecordAttemptResults,
    ClaimEvents,
    ClaimReplicas,
    NoteKeyUses,
    DeleteEnded,
    DeleteRequest,
    DeleteBatchChunk,
    ReportEngines,
    ReleaseAll,
    Release,
    ReserveObject,
    NewBatch,
    NewInputBatch,
    FillBatch,
    TryRequest,
    NewRequest,
}

#[derive(Debug, Clone)]
pub(in crate::store) struct Node {
    /// Its row number, never used twice.
    pub(in crate::store) key: i64,
    pub(in crate::store) name: String,
    pub(in crate::store) schedules: bool,
}

/// The next row numbers on SQLite. Only its one writer hands them out, so they are kept in memory; PostgreSQL keeps its own.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store) struct Sequences {
    pub(in crate::store) request: i64,
    pub(in crate::store) result: i64,
}

/// What every group of this node's writes knows.
pub(in crate::store) struct WriteContext {
    pub(in crate::store) node: Node,
    /// The quotas of accounts that have none of their own.
    pub(in crate::store) quotas: watch::Receiver<Quotas>,
    pub(in crate::store) events: EventContext,
    pub(in crate::store) watches: Arc<BatchWatches>,
}

/// The transaction of a group of writes.
pub(in crate::store) struct WriteTransaction<'c> {
    pub(in crate::store) tx: Tx<'c>,
    pub(in crate::store) sequences: Sequences,
    /// The node whose leases these writes take and end.
    pub(in crate::store) node: &'c Node,
    /// The quotas of accounts that have none of their own.
    pub(in crate::store) quotas: Quotas,
    /// What these writes bring about besides.
    pub(in crate::store) effects: Effects,
    events: &'c EventContext,
    watches: &'c Arc<BatchWatches>,
}

impl<'c> WriteTransaction<'c> {
    /// Begins the transaction of the group with this number.
    pub(in crate::store) async fn begin(
        connection: &'c mut Connection,
        sequences: Sequences,
        context: &'c WriteContext,
        number: i64,
    ) -> Result<Self, StoreError> {
        let WriteContext { node, quotas, events, watches } = context;
        let quotas = *quotas.borrow();
        let tx = Tx::begin_as(connection, Some(Numbered { node: node.key, number })).await?;
        Ok(Self { tx, sequences, node, quotas, effects: Effects::default(), events, watches })
    }

    /// Numbers for `count` results.
    pub(in crate::store) async fn draw_results(&mut self, count: usize) -> Result<Vec<i64>, StoreError> {
        let count = count as i64;
        match self.tx.dialect() {
            Dialect::Sqlite => {
                let first = self.sequences.result;
                self.sequences.result += count;
                Ok((first..first + count).collect())
            }
            Dialect::Postgres => {
                let rows = self.tx.fetch(DRAW_RESULTS.bind(count)).await?;
                rows.iter().map(|row| row.get("seq")).collect()
            }
        }
    }

    /// Writes the effects: the last that a group does before its commit.
    pub(in crate::store) async fn apply_effects(&mut self) -> Result<(), StoreError> {
        self.effects.apply(self.events, &mut self.tx).await
    }

    /// Makes it durable; the row numbers that come next, and what is to be done once that is known.
    pub(in crate::store) async fn commit(self) -> (Result<Sequences, CommitError>, AfterCommit) {
        let after_commit = self.effects.after_commit(self.events, self.watches);
        (self.tx.commit().await.map(|()| self.sequences), after_commit)
    }

    /// Leaves everything undone, as a killed process would.
    pub(in crate::store) async fn roll_back(self) -> Result<(), StoreError> {
        self.tx.rollback().await
    }
}
