//! The sweep that nodes share: its cursor is a row, and who looks takes the next stretch.

use overnight_domain::scheduler::{Candidate, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;

use super::candidates::{look_behind, read_candidate};
use super::database::{Tx, sql};
use super::{Store, StoreError};

/// The next waiting requests of a group that may be tried by `now`, `limit` at most; the sweep goes on behind them. At
/// the end it comes round. Nothing where nothing waits at all.
pub(super) async fn take(
    store: &Store,
    group: QueuePartition,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    store.transaction(async move |tx| go_on(tx, group, limit, now).await).await
}

async fn go_on(
    tx: &mut Tx<'_>,
    group: QueuePartition,
    limit: u32,
    now: i64,
) -> Result<Vec<Candidate>, StoreError> {
    // Where a crash sets the cursor back, a stretch is looked at twice: no commit needs to wait for that.
    tx.execute(sql("SET LOCAL synchronous_commit = off")).await?;
    let mut after = cursor(tx, group).await?;
    loop {
        let rows = tx.fetch(look_behind(group, after.as_ref(), limit, now)).await?;
        let stretch = rows.iter().map(read_candidate).collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = stretch.last() {
            let text = "UPDATE sweeps SET sort_key = ?, seq = ? WHERE model = ? AND account = ?";
            let position = &last.position;
            let update = sql(text).bind(position.sort_key.as_bytes()).bind(position.seq);
            tx.execute(update.bind(group.model.0).bind(group.account.0)).await?;
        }
        if !stretch.is_empty() || after.take().is_none() {
            return Ok(stretch);
        }
    }
}

/// Where the sweep stands; nobody else takes of it until the transaction ends.
async fn cursor(tx: &mut Tx<'_>, group: QueuePartition) -> Result<Option<Position>, StoreError> {
    let text = "SELECT sort_key, seq FROM sweeps WHERE model = ? AND account = ?";
    let select = sql(text).bind(group.model.0).bind(group.account.0).locking();
    let rows = tx.fetch(select).await?;
    let Some(row) = rows.first() else {
        let text = "INSERT INTO sweeps (model, account, sort_key, seq) VALUES (?, ?, ''::bytea, 0)
                    ON CONFLICT DO NOTHING";
        tx.execute(sql(text).bind(group.model.0).bind(group.account.0)).await?;
        return Ok(None);
    };
    Ok(Some(Position { sort_key: SortKey::from_bytes(row.get(0)?), seq: row.get(1)? }))
}
