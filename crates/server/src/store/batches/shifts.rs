//! The counters of the batches that a group touched, written once a batch.

use std::collections::BTreeMap;

use overnight_domain::batches::Counters;
use overnight_domain::webhooks::EventKind;

use crate::store::events::Outbox;
use crate::store::database::{Tx, sql};
use crate::store::{StoreError, row};

/// Adds each shift to its batch and lets the batch's state follow; a batch that completes is told of.
pub(in crate::store) async fn apply_shifts(
    tx: &mut Tx<'_>,
    shifts: &BTreeMap<i64, Counters>,
    now: i64,
    outbox: &mut Outbox,
) -> Result<(), StoreError> {
    for (&batch, shift) in shifts {
        let text = "SELECT in_progress_at, completed_at, cancelled_at,
                           registered, in_progress, completed, failed, cancelled, lane FROM batches WHERE seq = ?";
        let found = tx.fetch(sql(text).bind(batch).locking()).await?;
        let row = found.first().ok_or(StoreError::Damaged("a request names a batch that is not there"))?;
        let counters = row::counters(row, 3)?.plus(shift);
        let before = row::batch_state(row, 0)?;
        let state = before.observe(&counters, now);
        if before.completed_at() != state.completed_at() {
            outbox.batch_ended(batch, EventKind::BatchCompleted, row.get(8)?, now);
        }
        let text = "UPDATE batches SET in_progress_at = ?, completed_at = ?,
                           registered = ?, in_progress = ?, completed = ?, failed = ?, cancelled = ? WHERE seq = ?";
        let update = sql(text)
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
