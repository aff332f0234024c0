//! Ends on SQLite: what is held is read first, and then three statements go as one message.

use std::collections::{HashMap, HashSet};

use super::{Held, LeaseName, Settlement, push_result};
use crate::store::books::Pinned;
use crate::store::sql::{Dialect, Kind, Part, RowsStatement, Statement, Value, chunks, read_joined};
use crate::store::writer::Unit;
use crate::store::{StoreError, leases};

/// The leases that are held, each with since when its request is in progress, its batch, its hold, its prices and its lane. A batch that is marked cancelled holds its requests back:
/// they end with the next chunk of its cancel.
pub(in crate::store) static HELD: RowsStatement = RowsStatement::new(
    "WITH v(model, account, sort_key, seq, lease_epoch) AS (",
    &[Kind::Integer, Kind::Integer, Kind::Bytes, Kind::Integer, Kind::Integer],
    ") SELECT group_concat(concat(q.seq, ',', q.lease_epoch, ',', q.in_progress_at, ',', q.batch, ',', q.hold, ',',
                                   x.input, ',', x.output, ',', q.lane), ';') FROM v
       CROSS JOIN queue q ON q.model = v.model AND q.account = v.account
                         AND q.sort_key = v.sort_key AND q.seq = v.seq
       LEFT JOIN batches b ON b.seq = q.batch
       LEFT JOIN prices x ON x.seq = q.price
       WHERE q.phase = 1 AND q.lease_epoch = v.lease_epoch AND b.cancelled_at IS NULL
         AND q.owner = ?",
);

/// Ends them.
pub(in crate::store) static END: RowsStatement<3> = RowsStatement::all([
    Part {
        head: "DELETE FROM queue WHERE (model, account, sort_key, seq) IN (",
        columns: &[Kind::Integer, Kind::Integer, Kind::Bytes, Kind::Integer],
        tail: ")",
    },
    Part {
        head: "WITH v(seq, state, in_progress_at, ended_at, result_seq) AS (",
        columns: &[Kind::Integer; 5],
        tail:
            ") UPDATE progress SET state = v.state, in_progress_at = v.in_progress_at, ended_at = v.ended_at,
                 result_seq = v.result_seq FROM v WHERE progress.seq = v.seq",
    },
    Part {
        head: "INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body)",
        columns: &[Kind::Integer, Kind::Integer, Kind::Integer, Kind::Integer, Kind::Bytes],
        tail: "",
    },
]);

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
    for chunk in chunks(&survivors) {
        let touched = unit.tx.execute(bind_end(chunk)).await?;
        if touched != 3 * chunk.len() as u64 {
            return Err(StoreError::Damaged("a lease that was held"));
        }
    }
    Ok(held.into_keys().collect())
}

/// The leases that are held, by name, each with since when its request is in progress.
async fn find_held(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashMap<LeaseName, (i64, Held)>, StoreError> {
    let mut held = HashMap::with_capacity(settlements.len());
    for chunk in chunks(settlements) {
        let mut values = Vec::with_capacity(5 * chunk.len());
        for settlement in chunk {
            leases::push_key(&mut values, &settlement.lease.key);
            values.push(settlement.lease.epoch.into());
        }
        let statement = HELD.over(Dialect::Sqlite, [], values, [unit.owner.key.into()]);
        for [seq, epoch, in_progress_at, batch, hold, input, output, lane] in
            read_joined(&unit.tx.fetch(statement).await?)?
        {
            let in_progress_at = in_progress_at.ok_or(StoreError::Damaged("a lease without its time"))?;
            let found = (in_progress_at, Held { batch, pinned: Pinned::new(hold, input, output), lane });
            held.extend(seq.zip(epoch).map(|lease| (lease, found)));
        }
    }
    Ok(held)
}

fn bind_end(survivors: &[Survivor<'_>]) -> Statement {
    let mut values: Vec<Value> = Vec::with_capacity(14 * survivors.len());
    for survivor in survivors {
        leases::push_key(&mut values, &survivor.settlement.lease.key);
    }
    for Survivor { settlement, in_progress_at, ended_at, result_seq } in survivors {
        values.push(settlement.seq().into());
        values.push(settlement.ending.code().into());
        values.push((*in_progress_at).into());
        values.push((*ended_at).into());
        values.push((*result_seq).into());
    }
    for Survivor { settlement, result_seq, .. } in survivors {
        values.push((*result_seq).into());
        values.push(settlement.seq().into());
        push_result(&mut values, settlement);
    }
    END.with(survivors.len(), values)
}
