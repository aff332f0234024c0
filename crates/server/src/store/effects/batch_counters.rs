//! The counters of the batches that a group moved, written once a batch. Their state follows them, and so do the places of the
//! requests that ended: the row of the batch is locked, so that they are given out in the order of commits.

use std::collections::{BTreeMap, BTreeSet};

use overnight_base::planted_bugs::Bug;
use overnight_domain::batches::Counters;

use crate::store::database::{Tx, statements};
use crate::store::effects::NewEnds;
use crate::store::{StoreError, row};

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
    COUNT_DELETED = "UPDATE batches SET deleted = deleted + ? WHERE seq = ?";
    /// Nobody reads the order of a batch of which every request was deleted.
    FORGET_ENDS = "DELETE FROM batch_ends WHERE batch IN (
        SELECT seq FROM batches WHERE seq = ? AND deleted >= registered + in_progress + completed + failed + cancelled)";
}

/// The requests of batches that a group ended: when each did, in milliseconds, and its row number.
pub(super) type EndsOfBatches = BTreeMap<i64, Vec<(i64, i64)>>;

pub(super) struct CompletedBatch {
    pub(super) seq: i64,
    /// Where its event is delivered; `None` where it has no webhook.
    pub(super) lane: Option<i64>,
}

/// Adds each delta, notes the requests that ended, and how many of its requests were deleted, to its batch; the batches that completed by that. Every node locks
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
