//! The counters of the batches that a group touched, written once a batch.

use std::collections::BTreeMap;

use overnight_domain::batches::Counters;
use overnight_domain::webhooks::EventKind;

use crate::store::database::{Tx, statements};
use crate::store::outbox::Outbox;
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
}

/// Adds each shift to its batch and lets the batch's state follow; a batch that completes is told of.
pub(in crate::store) async fn apply_shifts(
    tx: &mut Tx<'_>,
    shifts: &BTreeMap<i64, Counters>,
    now: i64,
    outbox: &mut Outbox,
) -> Result<(), StoreError> {
    for (&batch, shift) in shifts {
        let found = tx.fetch(LOCK.bind(batch)).await?;
        let row = found.first().ok_or(StoreError::Damaged("a request names a batch that is not there"))?;
        let counters = row::counters(row)?.plus(shift);
        let before = row::batch_state(row)?;
        let state = before.observe(&counters, now);
        if before.completed_at() != state.completed_at() {
            outbox.batch_ended(batch, EventKind::BatchCompleted, row.get("lane")?, now);
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
    }
    Ok(())
}
