//! Ends on SQLite: what is held is read first.

use std::collections::{HashMap, HashSet};

use super::{Held, LeaseName, Settlement, push_result};
use crate::store::books::Pinned;
use crate::store::database::{Kind, Row, Sql, Statement, Value};
use crate::store::writer::Unit;
use crate::store::{StoreError, leases};

/// A lease that is held, with since when its request is in progress, its batch, its hold, its prices and its lane. A batch
/// that is marked cancelled holds its requests back: they end with the next chunk of its cancel.
pub(in crate::store) static HELD: Sql = Sql {
    name: "HELD",
    sqlite: "SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch, q.hold, x.input, x.output, q.lane
         FROM queue q LEFT JOIN batches b ON b.seq = q.batch LEFT JOIN prices x ON x.seq = q.price
         WHERE q.model = ?2 AND q.account = ?3 AND q.sort_key = ?4 AND q.seq = ?5
           AND q.phase = 1 AND q.lease_epoch = ?6 AND q.owner = ?1 AND b.cancelled_at IS NULL",
    postgres: "",
    columns: &[Kind::Integer, Kind::Integer, Kind::Bytes, Kind::Integer, Kind::Integer],
};

pub(in crate::store) static LEAVE: Sql = Sql {
    name: "LEAVE",
    sqlite: "DELETE FROM queue WHERE model = ?1 AND account = ?2 AND sort_key = ?3 AND seq = ?4",
    postgres: "",
    columns: &[Kind::Integer, Kind::Integer, Kind::Bytes, Kind::Integer],
};

pub(in crate::store) static END: Sql = Sql {
    name: "END",
    sqlite: "UPDATE progress SET state = ?2, in_progress_at = ?3, ended_at = ?4, result_seq = ?5 WHERE seq = ?1",
    postgres: "",
    columns: &[Kind::Integer; 5],
};

pub(in crate::store) static RESULTS: Sql = Sql {
    name: "RESULTS",
    sqlite: "INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    postgres: "",
    columns: &[Kind::Integer, Kind::Integer, Kind::Integer, Kind::Integer, Kind::Bytes],
};

/// A settlement whose lease is held, and the number of its result.
struct Survivor<'a> {
    settlement: &'a Settlement,
    in_progress_at: i64,
    ended_at: i64,
    result_seq: i64,
}

pub(super) async fn end(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashSet<LeaseName>, StoreError> {
    let held = find_held(settlements, unit).await?;
    let mut survivors = Vec::with_capacity(held.len());
    for settlement in settlements {
        let Some((in_progress_at, held)) = held.get(&settlement.name()).copied() else { continue };
        let result_seq = unit.sequences.result;
        unit.sequences.result += 1;
        let ended_at = settlement.now.max(in_progress_at);
        settlement.book(&held, result_seq, ended_at, unit);
        survivors.push(Survivor { settlement, in_progress_at, ended_at, result_seq });
    }
    let mut touched = 0;
    for statement in survivors_statements(&survivors) {
        touched += unit.tx.execute(statement).await?;
    }
    if touched != 3 * survivors.len() as u64 {
        return Err(StoreError::Damaged("a lease that was held"));
    }
    Ok(held.into_keys().collect())
}

/// The leases that are held, by name, each with since when its request is in progress.
async fn find_held(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashMap<LeaseName, (i64, Held)>, StoreError> {
    let mut values = Vec::with_capacity(5 * settlements.len());
    for settlement in settlements {
        leases::push_key(&mut values, &settlement.lease.key);
        values.push(settlement.lease.epoch.into());
    }
    let rows = unit.tx.fetch(HELD.over([unit.owner.key.into()], values)).await?;
    let read = |row: &Row| {
        let pinned = Pinned::new(row.get(4)?, row.get(5)?, row.get(6)?);
        let held = Held { batch: row.get(3)?, pinned, lane: row.get(7)? };
        Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, held)))
    };
    rows.iter().map(read).collect()
}

/// Out of the queue, into the state, and their results.
fn survivors_statements(survivors: &[Survivor<'_>]) -> [Statement; 3] {
    let count = survivors.len();
    let (mut keys, mut states, mut results) =
        (Vec::with_capacity(4 * count), Vec::with_capacity(5 * count), Vec::with_capacity(5 * count));
    for Survivor { settlement, in_progress_at, ended_at, result_seq } in survivors {
        leases::push_key(&mut keys, &settlement.lease.key);
        let (seq, state) = (settlement.seq(), settlement.ending.code());
        states.extend([seq, state, *in_progress_at, *ended_at, *result_seq].map(Value::from));
        results.extend([*result_seq, seq].map(Value::from));
        push_result(&mut results, settlement);
    }
    [LEAVE.over([], keys), END.over([], states), RESULTS.over([], results)]
}
