//! What the requests of an account in a block of 1,024 row numbers have in common, as marks: that some are live, how others ended, when they
//! were created, and the models that they name. A list with a filter skips the blocks without the marks that match.
//!
//! A mark is written with the first such request in a block, and deleted with the last request of the account in it. `requests/unmarking.rs`
//! deletes that of live requests once all have ended. All is done under the lock of the account's row: on PostgreSQL no node deletes a row
//! that another relies on.

use std::collections::BTreeSet;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::database::{Statement, Tx, Value, statements};
use crate::direction::Direction;
use crate::read_queue::LongReaders;
use crate::{StoreError, row};

/// Row numbers of a block; schemas and statements know it too.
pub(crate) const BLOCK: i64 = 1_024;

/// Milliseconds of creation that share a mark; schemas and [`FILL`] know it too.
const PERIOD_MS: i64 = 16_384;

/// The mark of a block that has live requests, or had some lately; schemas and statements know it too.
pub(crate) const LIVE: i64 = 0;

/// The mark of the first period. Marks between are of states.
const FIRST_PERIOD: i64 = 16;

/// Each mark may lead to another block, so a read of several marks may have to begin again.
const STEPS_MAX: usize = 32;

statements! {
    /// Of a store that was filled without them.
    FILL = "INSERT INTO request_blocks (account, block, mark)
        SELECT account, seq / 1024, CASE WHEN state >= 3 /* ended */ THEN state ELSE 0 END FROM request_states
        UNION SELECT account, seq / 1024, 16 + created_at / 16384 FROM requests
        UNION SELECT account, seq / 1024, -coalesce(alias, model) FROM requests";
    INSERT over [Integer, Integer, Integer] = {
        sqlite: "INSERT OR IGNORE INTO request_blocks (account, block, mark) VALUES (?1, ?2, ?3)",
        postgres: "INSERT INTO request_blocks (account, block, mark)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS v(account, block, mark) ON CONFLICT DO NOTHING",
    };
    CLEAR over [Integer, Integer] = {
        sqlite: "DELETE FROM request_blocks WHERE account = ?1 AND block = ?2 AND NOT EXISTS (
            SELECT 1 FROM request_states rs WHERE rs.account = ?1 AND rs.seq >= 1024 * ?2 AND rs.seq < 1024 * ?2 + 1024)",
        postgres: "DELETE FROM request_blocks b USING unnest($1::bigint[], $2::bigint[]) AS v(account, block)
            WHERE b.account = v.account AND b.block = v.block AND NOT EXISTS (
                SELECT 1 FROM request_states rs WHERE rs.account = v.account AND rs.seq >= 1024 * v.block AND rs.seq < 1024 * v.block + 1024)",
    };
    HAS_LIVE = "SELECT 1 AS has_live FROM accounts WHERE seq = ? AND live_requests > 0";
    NEXT_OLDEST_FIRST = "SELECT block FROM request_blocks WHERE account = ? AND block >= ? AND mark BETWEEN ? AND ?
        ORDER BY block LIMIT 1";
    NEXT_NEWEST_FIRST = "SELECT block FROM request_blocks WHERE account = ? AND block <= ? AND mark BETWEEN ? AND ?
        ORDER BY block DESC LIMIT 1";
}

fn period(created_at: i64) -> i64 {
    FIRST_PERIOD + created_at.max(0) / PERIOD_MS
}

const fn model_mark(model: ModelKey) -> i64 {
    -model.0
}

/// Changes of a group of writes.
#[derive(Default)]
pub(crate) struct BlockChanges {
    /// Account, block and mark.
    marks: BTreeSet<(i64, i64, i64)>,
    /// Account and block.
    deleted: BTreeSet<(i64, i64)>,
}

impl BlockChanges {
    /// `model` is the one that the request names.
    pub(crate) fn created(&mut self, account: AccountKey, seq: i64, created_at: i64, model: ModelKey) {
        let block = seq.div_euclid(BLOCK);
        self.marks.extend([LIVE, period(created_at), model_mark(model)].map(|mark| (account.0, block, mark)));
    }

    pub(crate) fn ended(&mut self, account: i64, seq: i64, status: RequestStatus) {
        self.marks.insert((account, seq.div_euclid(BLOCK), row::codes(Some(status)).0));
    }

    pub(crate) fn deleted(&mut self, account: i64, seq: i64) {
        self.deleted.insert((account, seq.div_euclid(BLOCK)));
    }

    /// The rows of these accounts are locked.
    pub(crate) async fn write(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let Self { marks, deleted } = std::mem::take(self);
        let marks = marks.into_iter().flat_map(|(account, block, mark)| [account, block, mark]);
        tx.execute(INSERT.over([], marks.map(Value::from).collect())).await?;
        let deleted = deleted.into_iter().flat_map(|(account, block)| [account, block]);
        tx.execute(CLEAR.over([], deleted.map(Value::from).collect())).await.map(drop)
    }
}

/// What a list asks for, as far as blocks have marks of it. Times are in milliseconds, and are not in the list themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The range of states.
    pub(crate) states: (i64, i64),
    pub(crate) model: Option<ModelKey>,
    pub(crate) created_after: Option<i64>,
    pub(crate) created_before: Option<i64>,
}

impl Wanted {
    /// The ranges of marks of which a block has one each if it has a request of the list.
    fn ranges(&self) -> impl Iterator<Item = (i64, i64)> + Clone {
        let (after, before) = (self.created_after, self.created_before);
        let is_timed = after.is_some() || before.is_some();
        let periods = (after.map_or(FIRST_PERIOD, period), before.map_or(i64::MAX, period));
        let model = self.model.map(model_mark).map(|mark| (mark, mark));
        let states = match self.states {
            (_, last) if last < row::COMPLETED => Some((LIVE, LIVE)),
            (first, _) if first < row::COMPLETED => None,
            ended => Some(ended),
        };
        [states, is_timed.then_some(periods), model].into_iter().flatten()
    }
}

/// The row behind which a list continues, not before `behind`; `None` at its end.
pub(crate) async fn skip(
    readers: &LongReaders<'_>,
    direction: Direction,
    wanted: &Wanted,
    behind: i64,
) -> Result<Option<i64>, StoreError> {
    if wanted.states.1 < row::COMPLETED {
        let live = readers.fetch_optional(HAS_LIVE.bind(readers.account)).await?;
        if live.is_none() {
            return Ok(None);
        }
    }
    let (ranges, mut behind) = (wanted.ranges(), behind);
    let mut agreed = 0;
    for range in ranges.clone().cycle().take(STEPS_MAX) {
        let next = next(direction, readers.account, range, behind);
        let Some(row) = readers.fetch_optional(next).await? else { return Ok(None) };
        let block: i64 = row.get("block")?;
        let skipped = match direction {
            Direction::OldestFirst => behind.max(block * BLOCK - 1),
            Direction::NewestFirst => behind.min((block + 1) * BLOCK),
        };
        agreed = if skipped == behind { agreed + 1 } else { 1 };
        behind = skipped;
        if agreed >= ranges.clone().count() {
            break;
        }
    }
    Ok(Some(behind))
}

/// Asks for the first block with such a mark that has rows after `behind`.
fn next(direction: Direction, account: AccountKey, range: (i64, i64), behind: i64) -> Statement {
    let (next, from) = match direction {
        Direction::OldestFirst => (&NEXT_OLDEST_FIRST, behind.saturating_add(1)),
        Direction::NewestFirst => (&NEXT_NEWEST_FIRST, behind.saturating_sub(1)),
    };
    next.bind(account).bind(from.div_euclid(BLOCK)).bind(range.0).bind(range.1)
}
