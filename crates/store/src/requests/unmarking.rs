//! Deleting the marks of blocks whose live requests have ended (`request_blocks.rs`).

use crate::database::{Tx, Value, statements};
use crate::ledger::totals;
use crate::request_blocks::{BLOCK, LIVE};
use crate::{Store, StoreError};

/// Blocks per read and per write.
const BLOCKS: usize = 128;

statements! {
    LIST_LIVE = "SELECT account, block FROM request_blocks WHERE mark = 0 /* live */ AND (account, block) > (?, ?)
        ORDER BY account, block LIMIT ?";
    FIND_LIVE = "SELECT 1 AS live FROM request_states WHERE account = ? AND seq >= ? AND seq < ? AND state < 3 /* ended */ LIMIT 1";
    UNMARK over [Integer, Integer, Integer] = {
        sqlite: "DELETE FROM request_blocks WHERE account = ?1 AND block = ?2 AND mark = ?3 AND NOT EXISTS (SELECT 1
            FROM request_states rs WHERE rs.account = ?1 AND rs.seq >= 1024 * ?2 AND rs.seq < 1024 * ?2 + 1024 AND rs.state < 3 /* ended */)",
        postgres: "DELETE FROM request_blocks b USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(account, block, mark)
            WHERE b.account = v.account AND b.block = v.block AND b.mark = v.mark AND NOT EXISTS (SELECT 1
                FROM request_states rs WHERE rs.account = v.account AND rs.seq >= 1024 * v.block AND rs.seq < 1024 * v.block + 1024
                  AND rs.state < 3 /* ended */)",
    };
}

/// Deletes the marks of blocks whose live requests have ended.
pub async fn unmark_ended(store: &Store) -> Result<(), StoreError> {
    let mut behind = (0, i64::MIN);
    loop {
        let list = LIST_LIVE.bind(behind.0).bind(behind.1).bind(BLOCKS as i64);
        let rows = store.readers().fetch_all(list).await?;
        let mut ended = Vec::new();
        for row in &rows {
            behind = (row.get("account")?, row.get("block")?);
            let live = FIND_LIVE.bind(behind.0).bind(behind.1 * BLOCK).bind((behind.1 + 1) * BLOCK);
            if store.readers().fetch_optional(live).await?.is_none() {
                ended.push(behind);
            }
        }
        if !ended.is_empty() {
            store.transaction(async move |tx: &mut Tx<'_>| unmark(&ended, tx).await).await?;
        }
        if rows.len() < BLOCKS {
            return Ok(());
        }
    }
}

/// A request may have been created in such a block since it was read.
async fn unmark(ended: &[(i64, i64)], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    totals::lock_only(ended.iter().map(|(account, _)| *account), tx).await?;
    let values = ended.iter().flat_map(|(account, block)| [*account, *block, LIVE]);
    tx.execute(UNMARK.over([], values.map(Value::from).collect())).await.map(drop)
}
