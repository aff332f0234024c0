//! The counters of the batches that a group changed, written once per batch, with their states and the places of ended requests: the row of
//! the batch is locked, so places follow the order of commits.

use std::collections::{BTreeMap, BTreeSet};

use overnight_base::planted_bugs::Bug;
use overnight_domain::batches::Counters;

use crate::database::{Tx, statements};
use crate::effects::NewEnds;
use crate::{StoreError, row};

statements! {
    LOCK = {
        sqlite: "SELECT in_progress_at, completed_at, cancelled_at, registered, in_progress, completed, failed, cancelled, lane
            FROM batches WHERE seq = ?",
        postgres: "SELECT in_progress_at, completed_at, cancelled_at, registered, in_progress, completed, failed, cancelled, lane
            FROM batches WHERE seq = ? FOR UPDATE",
    };
    UPDATE = "UPDATE batches SET in_progress_at = ?, completed_at = ?,
               registered = ?, in_progress = ?, completed = ?, failed = ?, cancelled = ?
        WHERE seq = ?";
    COUNT_DELETED = "UPDATE batches SET deleted = deleted + ?, input_bytes = NULL, output_bytes = NULL, error_bytes = NULL WHERE seq = ?";
    /// Not needed once every request of a batch is deleted.
    FORGET_ENDS = "DELETE FROM batch_ends WHERE batch IN (
        SELECT seq FROM batches WHERE seq = ? AND deleted >= registered + in_progress + completed + failed + cancelled)";
}

/// Ended requests by batch: time in milliseconds, and row number.
pub(super) type EndsOfBatches = BTreeMap<i64, Vec<(i64, i64)>>;

pub(super) struct CompletedBatch {
    pub(super) seq: i64,
    /// `None` without a webhook.
    pub(super) lane: Option<i64>,
}

/// Adds deltas, ended requests and numbers of deleted requests to their batches; returns the batches that this completed. Every node locks
/// batches in this order.
pub(super) async fn apply(
    deltas: &BTreeMap<i64, Counters>,
    mut ends: EndsOfBatches,
    deleted: &BTreeMap<i64, i64>,
    now: i64,
    tx: &mut Tx<'_>,
) -> Result<Vec<CompletedBatch>, StoreError> {
    let (mut completed, mut new_ends) = (Vec::new(), NewEnds::default());
    for batch in deltas.keys().chain(deleted.keys()).copied().collect::<BTreeSet<_>>() {
        if let Some(count) = deleted.get(&batch) {
            tx.execute(COUNT_DELETED.bind(*count).bind(batch)).await?;
            tx.execute(FORGET_ENDS.bind(batch)).await?;
        }
        let Some(delta) = deltas.get(&batch) else { continue };
        let found = tx.fetch(LOCK.bind(batch)).await?;
        let row = found.first().ok_or(StoreError::Damaged("a request names a missing batch"))?;
        let counters = row::counters(row)?.plus(delta);
        let before = row::batch_state(row)?;
        let state = before.observe(&counters, now);
        let is_early = Bug::EventBeforeEnd.is_planted() && counters.registered + counters.in_progress == 1;
        if before.completed_at() != state.completed_at() || is_early {
            completed.push(CompletedBatch { seq: batch, lane: row.get("lane")? });
        }
        let update = UPDATE
            .bind(state.in_progress_at())
            .bind(state.completed_at())
            .bind(counters.registered)
            .bind(counters.in_progress)
            .bind(counters.completed)
            .bind(counters.failed)
            .bind(counters.cancelled)
            .bind(batch);
        tx.execute(update).await?;
        if let Some(ended) = ends.remove(&batch) {
            new_ends.push(batch, counters.ended(), ended);
        }
    }
    new_ends.write(tx).await?;
    Ok(completed)
}
