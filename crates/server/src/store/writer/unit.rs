//! What one group does in one transaction: the transaction itself, the row numbers it hands out, and the moves of
//! its batches' counters and its accounts' money, which are written once at the end, one row each, and its events.

use std::collections::BTreeMap;
use std::sync::Arc;

use overnight_domain::batches::Counters;
use overnight_domain::requests::RequestStatus;
use tokio::sync::Notify;

use crate::store::batches;
use crate::store::database::{CommitError, Connection, Dialect, Numbered, Tx, sql};
use crate::store::error::StoreError;
use crate::store::ledger::deltas::Books;
use crate::store::nodes::Owner;
use crate::store::outbox::{Announcer, Outbox};

/// The next row numbers on SQLite. Only its one writer hands them out, so they are kept in memory; PostgreSQL keeps its own.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::store) struct Sequences {
    pub(in crate::store) request: i64,
    pub(in crate::store) result: i64,
}

/// What others learn of a transaction once it is durable.
pub(in crate::store) struct Told {
    books: Books,
    bell: Option<Arc<Notify>>,
}

impl Told {
    /// Counts what was charged, and wakes who delivers events.
    pub(super) fn tell(&self) {
        self.books.count();
        if let Some(bell) = &self.bell {
            bell.notify_one();
        }
    }
}

/// A unit of work: one transaction.
pub(in crate::store) struct Unit<'c> {
    pub(in crate::store) tx: Tx<'c>,
    pub(in crate::store) sequences: Sequences,
    /// The process whose leases these writes take and end.
    pub(in crate::store) owner: &'c Owner,
    /// The money that these writes move.
    pub(in crate::store) books: Books,
    /// What these writes tell the world of.
    pub(in crate::store) outbox: Outbox,
    announcer: &'c Announcer,
    announced: usize,
    shifts: BTreeMap<i64, Counters>,
    now: i64,
}

impl<'c> Unit<'c> {
    pub(super) async fn begin(
        connection: &'c mut Connection,
        sequences: Sequences,
        owner: &'c Owner,
        announcer: &'c Announcer,
        number: i64,
    ) -> Result<Self, StoreError> {
        let tx = Tx::begin_as(connection, Some(Numbered { owner: owner.key, number })).await?;
        Ok(Self {
            tx,
            sequences,
            owner,
            books: Books::default(),
            outbox: Outbox::default(),
            announcer,
            announced: 0,
            shifts: BTreeMap::new(),
            now: 0,
        })
    }

    /// Notes that `count` requests of `batch` changed status at `now`.
    pub(in crate::store) fn shift(
        &mut self,
        batch: Option<i64>,
        from: RequestStatus,
        to: RequestStatus,
        now: i64,
    ) {
        if let Some(batch) = batch {
            self.shifts.entry(batch).or_default().shift(from, to, 1);
            self.now = self.now.max(now);
        }
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
                let draw = sql("SELECT nextval('results_seq_seq') FROM generate_series(1, ?)").bind(count);
                self.tx.fetch(draw).await?.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Writes the counters. Rows of batches are locked before those of accounts.
    pub(in crate::store) async fn write_shifts(&mut self) -> Result<(), StoreError> {
        let shifts = std::mem::take(&mut self.shifts);
        if shifts.is_empty() {
            return Ok(());
        }
        batches::apply_shifts(&mut self.tx, &shifts, self.now, &mut self.outbox).await
    }

    /// Writes counters, events and money: the last that a group does before its commit.
    pub(super) async fn finish(&mut self) -> Result<(), StoreError> {
        self.write_shifts().await?;
        self.announced += self.outbox.write(self.announcer, &mut self.tx).await?;
        self.books.write(&mut self.tx).await
    }

    /// Makes it durable; the row numbers that come next, and what is to be told once that is known.
    pub(super) async fn commit(self) -> (Result<Sequences, CommitError>, Told) {
        let bell = (self.announced > 0).then(|| Arc::clone(&self.announcer.bell));
        (self.tx.commit().await.map(|()| self.sequences), Told { books: self.books, bell })
    }

    /// Leaves everything undone, as a killed process would.
    pub(super) async fn abandon(self) -> Result<(), StoreError> {
        self.tx.rollback().await
    }
}
