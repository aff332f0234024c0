//! The sweep that nodes share: its cursor is a row, and each scan takes the next run.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition};

use crate::store::database::{Tx, statements};
use crate::store::queue::queue_scan::{KeyRange, read_candidate, read_position, scan_range};
use crate::store::{Store, StoreError};

statements! {
    COMMIT_WITHOUT_WAITING = { postgres: "SET LOCAL synchronous_commit = off" };
    CURSOR = { postgres: "SELECT sort_key, seq FROM sweeps WHERE model = ? AND account = ? FOR UPDATE" };
    BEGIN = { postgres: "INSERT INTO sweeps (model, account, sort_key, seq) VALUES (?, ?, ''::bytea, 0)
        ON CONFLICT DO NOTHING" };
    GO_ON = { postgres: "UPDATE sweeps SET sort_key = ?, seq = ? WHERE model = ? AND account = ?" };
}

/// The next waiting requests of a partition that may be tried by `now`, `limit` at most; the sweep goes on behind them. At
/// the end it comes round. Nothing where nothing waits at all.
pub(in crate::store) async fn take(
    store: &Store,
    partition: QueuePartition,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    store.transaction(async move |tx| go_on(tx, partition, limit, now).await).await
}

async fn go_on(
    tx: &mut Tx<'_>,
    partition: QueuePartition,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    // Where a crash sets the cursor back, a run is scanned twice: no commit needs to wait for that.
    tx.execute(COMMIT_WITHOUT_WAITING.unbound()).await?;
    let mut after = cursor(tx, partition).await?;
    loop {
        let range = KeyRange { after: after.as_ref(), until: None };
        let rows = tx.fetch(scan_range(partition, range, limit, now)).await?;
        let run = rows.iter().map(read_candidate).collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = run.last() {
            let Position { sort_key, seq } = &last.position;
            let update = GO_ON.bind(sort_key.as_bytes()).bind(*seq);
            tx.execute(update.bind(partition.model).bind(partition.account)).await?;
        }
        if !run.is_empty() || after.take().is_none() {
            return Ok(run);
        }
    }
}

/// Where the sweep stands; nobody else takes of it until the transaction ends.
async fn cursor(tx: &mut Tx<'_>, partition: QueuePartition) -> Result<Option<Position>, StoreError> {
    let rows = tx.fetch(CURSOR.bind(partition.model).bind(partition.account)).await?;
    let Some(row) = rows.first() else {
        tx.execute(BEGIN.bind(partition.model).bind(partition.account)).await?;
        return Ok(None);
    };
    read_position(row).map(Some)
}
