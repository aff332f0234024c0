//! What one group does in one transaction: the transaction itself, the row numbers it hands out, and the moves of
//! its batches' counters, which are written once at the end, one row a batch.

use std::collections::BTreeMap;

use overnight_domain::batches::Counters;
use overnight_domain::requests::RequestStatus;
use sqlx::SqliteConnection;

use crate::store::batches;
use crate::store::error::StoreError;
use crate::store::owners::OwnerKey;
use crate::store::tx::Tx;

/// The next row numbers. Only the one writer hands them out, so they are kept in memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Sequences {
    pub(in crate::store) request: i64,
    pub(in crate::store) result: i64,
}

/// A unit of work: one transaction.
pub(in crate::store) struct Unit<'c> {
    pub(in crate::store) tx: Tx<'c>,
    pub(in crate::store) sequences: Sequences,
    /// The process whose leases these writes take and end.
    pub(in crate::store) owner: OwnerKey,
    shifts: BTreeMap<i64, Counters>,
    now: i64,
}

impl<'c> Unit<'c> {
    pub(super) async fn begin(
        connection: &'c mut SqliteConnection,
        sequences: Sequences,
        owner: OwnerKey,
    ) -> Result<Self, StoreError> {
        let tx = Tx::begin(connection).await?;
        Ok(Self { tx, sequences, owner, shifts: BTreeMap::new(), now: 0 })
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

    /// Writes the counters and commits; the row numbers that come next.
    pub(super) async fn commit(mut self) -> Result<Sequences, StoreError> {
        if !self.shifts.is_empty() {
            batches::apply_shifts(&mut self.tx, &self.shifts, self.now).await?;
        }
        self.tx.commit().await?;
        Ok(self.sequences)
    }

    /// Leaves everything undone, as a killed process would.
    pub(super) async fn abandon(self) -> Result<(), StoreError> {
        self.tx.rollback().await
    }
}
