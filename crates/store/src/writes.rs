//! The writer's knowledge of nouns: the order of writes in a group, and the transaction of each write, with its row numbers and effects.

use std::sync::Arc;

use overnight_domain::quotas::Quotas;
use tokio::sync::watch;

use crate::batch_watches::BatchWatches;
use crate::database::{CommitError, Connection, Dialect, Numbered, Tx, statements};
use crate::effects::{AfterCommit, Effects, EventContext};
use crate::error::StoreError;

statements! {
    DRAW_RESULTS = { postgres: "SELECT nextval('results_seq_seq') AS seq FROM generate_series(1, ?)" };
}

/// The order of writes in a group: one per operation, whose `impl Operation` is in the file of its noun (`Settle` in `queue/settle/mod.rs`,
/// `NewRequest` in `requests/insert.rs`). The writer knows no operation, and no operation another.
///
/// A batch is marked as deleted before this group ends any of it, so that the event of its end is stored and deleted with it. Settles
/// precede cancels, so that finished work is kept. Intake is last: a create reads its account's credits, with this group's releases, and
/// locks accounts, which every node locks last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WriteOrder {
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
    TakeBatchApart,
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
pub(crate) struct Node {
    /// Row number, never reused.
    pub(crate) key: i64,
    pub(crate) name: String,
    pub(crate) schedules: bool,
}

/// The next row numbers on SQLite, whose one writer gives them out from memory; PostgreSQL has its own.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sequences {
    pub(crate) request: i64,
    pub(crate) result: i64,
}

pub(crate) struct WriteContext {
    pub(crate) node: Node,
    /// Of accounts without quotas of their own.
    pub(crate) quotas: watch::Receiver<Quotas>,
    pub(crate) events: EventContext,
    pub(crate) watches: Arc<BatchWatches>,
}

pub(crate) struct WriteTransaction<'c> {
    pub(crate) tx: Tx<'c>,
    pub(crate) sequences: Sequences,
    /// Whose leases these writes take and end.
    pub(crate) node: &'c Node,
    /// Of accounts without quotas of their own.
    pub(crate) quotas: Quotas,
    pub(crate) effects: Effects,
    events: &'c EventContext,
    watches: &'c Arc<BatchWatches>,
}

impl<'c> WriteTransaction<'c> {
    pub(crate) async fn begin(
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

    pub(crate) async fn draw_results(&mut self, count: usize) -> Result<Vec<i64>, StoreError> {
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

    /// The last step before the commit.
    pub(crate) async fn apply_effects(&mut self) -> Result<(), StoreError> {
        self.effects.apply(self.events, &mut self.tx).await
    }

    /// Returns the next row numbers, and work to do once the commit is known.
    pub(crate) async fn commit(self) -> (Result<Sequences, CommitError>, AfterCommit) {
        let after_commit = self.effects.after_commit(self.events, self.watches);
        (self.tx.commit().await.map(|()| self.sequences), after_commit)
    }

    /// As a killed process would.
    pub(crate) async fn roll_back(self) -> Result<(), StoreError> {
        self.tx.rollback().await
    }
}
