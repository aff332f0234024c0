//! Blocks of 1,024 row numbers in which an account has requests that completed, failed or were cancelled: a list of such requests skips the
//! others.
//!
//! A row is written with the first such end in a block, and deleted with the last request of the account in it. Both are done under the lock
//! of the account's row: on PostgreSQL no node deletes a row that another relies on.

use std::collections::BTreeSet;

use overnight_domain::requests::RequestStatus;

use crate::database::{Tx, Value, statements};
use crate::direction::Direction;
use crate::read_queue::LongReaders;
use crate::{StoreError, row};

/// Row numbers of a block; schemas and [`CLEAR`] know it too.
const BLOCK: i64 = 1_024;

statements! {
    /// Of a store that was filled without them.
    FILL = "INSERT INTO ended_blocks (account, block, state)
        SELECT DISTINCT account, seq / 1024, state FROM request_states WHERE state >= 3 /* ended */";
    INSERT over [Integer, Integer, Integer] = {
        sqlite: "INSERT OR IGNORE INTO ended_blocks (account, block, state) VALUES (?1, ?2, ?3)",
        postgres: "INSERT INTO ended_blocks (account, block, state)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(account, block, state) ON CONFLICT DO NOTHING",
    };
    CLEAR over [Integer, Integer] = {
        sqlite: "DELETE FROM ended_blocks WHERE account = ?1 AND block = ?2 AND NOT EXISTS (
            SELECT 1 FROM request_states rs WHERE rs.account = ?1 AND rs.seq >= 1024 * ?2 AND rs.seq < 1024 * ?2 + 1024)",
        postgres: "DELETE FROM ended_blocks b USING unnest($1::bigint[], $2::bigint[]) AS v(account, block)
            WHERE b.account = v.account AND b.block = v.block AND NOT EXISTS (
                SELECT 1 FROM request_states rs WHERE rs.account = v.account AND rs.seq >= 1024 * v.block AND rs.seq < 1024 * v.block + 1024)",
    };
    HAS_LIVE = "SELECT 1 AS has_live FROM accounts WHERE seq = ? AND live_requests > 0";
    NEXT_OLDEST_FIRST = "SELECT block FROM ended_blocks WHERE account = ? AND block >= ? AND state BETWEEN ? AND ?
        ORDER BY block LIMIT 1";
    NEXT_NEWEST_FIRST = "SELECT block FROM ended_blocks WHERE account = ? AND block <= ? AND state BETWEEN ? AND ?
        ORDER BY block DESC LIMIT 1";
}

/// Changes of a group of writes.
#[derive(Default)]
pub(crate) struct BlockChanges {
    /// Account, block and state.
    ended: BTreeSet<(i64, i64, i64)>,
    /// Account and block.
    deleted: BTreeSet<(i64, i64)>,
}

impl BlockChanges {
    pub(crate) fn ended(&mut self, account: i64, seq: i64, status: RequestStatus) {
        self.ended.insert((account, seq.div_euclid(BLOCK), row::codes(Some(status)).0));
    }

    pub(crate) fn deleted(&mut self, account: i64, seq: i64) {
        self.deleted.insert((account, seq.div_euclid(BLOCK)));
    }

    /// The rows of these accounts are locked.
    pub(crate) async fn write(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let Self { ended, deleted } = std::mem::take(self);
        let ended = ended.into_iter().flat_map(|(account, block, state)| [account, block, state]);
        tx.execute(INSERT.over([], ended.map(Value::from).collect())).await?;
        let deleted = deleted.into_iter().flat_map(|(account, block)| [account, block]);
        tx.execute(CLEAR.over([], deleted.map(Value::from).collect())).await.map(drop)
    }
}

/// The row behind which a list of requests in these states continues, not before `behind`; `None` at its end.
pub(crate) async fn skip(
    readers: &LongReaders<'_>,
    direction: Direction,
    (first, last): (i64, i64),
    behind: i64,
) -> Result<Option<i64>, StoreError> {
    if last < row::COMPLETED {
        let live = readers.fetch_optional(HAS_LIVE.bind(readers.account)).await?;
        return Ok(live.map(|_| behind));
    }
    if first < row::COMPLETED {
        return Ok(Some(behind));
    }
    let (next, from) = match direction {
        Direction::OldestFirst => (&NEXT_OLDEST_FIRST, behind.saturating_add(1)),
        Direction::NewestFirst => (&NEXT_NEWEST_FIRST, behind.saturating_sub(1)),
    };
    let next = next.bind(readers.account).bind(from.div_euclid(BLOCK)).bind(first).bind(last);
    let Some(row) = readers.fetch_optional(next).await? else { return Ok(None) };
    let block: i64 = row.get("block")?;
    Ok(Some(match direction {
        Direction::OldestFirst => behind.max(block * BLOCK - 1),
        Direction::NewestFirst => behind.min((block + 1) * BLOCK),
    }))
}
