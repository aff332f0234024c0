//! Ends on SQLite: held leases are read first.

use std::collections::{HashMap, HashSet};

use crate::StoreError;
use crate::database::{Row, Statement, Value, statements};
use crate::queue::leases;
use crate::queue::settle::{Held, LeaseName, Settlement, read_name};
use crate::writes::WriteTransaction;

statements! {
    /// A held lease. A batch marked as cancelled withholds its requests: they end with its next chunk.
    HELD over [Integer, Integer, Bytes, Integer, Integer] = {
        sqlite: "SELECT q.seq, q.lease_epoch, q.in_progress_at, q.batch, q.hold, x.input, x.output, q.lane,
                   (SELECT rs.api_key FROM request_states rs WHERE rs.seq = q.seq) AS api_key
            FROM queue q LEFT JOIN batches b ON b.seq = q.batch LEFT JOIN price_points x ON x.seq = q.price
            WHERE q.model = ?2 AND q.account = ?3 AND q.sort_key = ?4 AND q.seq = ?5
              AND q.phase = 1 /* leased */ AND q.lease_epoch = ?6 AND q.node = ?1 AND b.cancelled_at IS NULL",
    };
    LEAVE over [Integer, Integer, Bytes, Integer] = {
        sqlite: "DELETE FROM queue WHERE model = ?1 AND account = ?2 AND sort_key = ?3 AND seq = ?4",
    };
    END over [Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "UPDATE request_states SET state = ?2, in_progress_at = ?3, ended_at = ?4, result_seq = ?5 WHERE seq = ?1",
    };
    STORE over [Integer, Integer, Integer, Integer, Bytes, Bytes, Text] = {
        sqlite: "INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body, warnings, engine)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    };
}

/// With a held lease, and the number of its result.
struct Survivor<'a> {
    settlement: &'a Settlement,
    in_progress_at: i64,
    ended_at: i64,
    result_seq: i64,
}

pub(super) async fn end(
    settlements: &[&Settlement],
    write: &mut WriteTransaction<'_>,
) -> Result<HashSet<LeaseName>, StoreError> {
    let held = find_held(settlements, write).await?;
    let mut survivors = Vec::with_capacity(held.len());
    for settlement in settlements {
        let Some((in_progress_at, held)) = held.get(&settlement.name()).copied() else { continue };
        let result_seq = write.sequences.result;
        write.sequences.result += 1;
        let ended_at = settlement.now.max(in_progress_at);
        settlement.note_effects(&held, result_seq, ended_at, write);
        survivors.push(Survivor { settlement, in_progress_at, ended_at, result_seq });
    }
    let mut touched = 0;
    for statement in survivors_statements(&survivors) {
        touched += write.tx.execute(statement).await?;
    }
    if touched != 3 * survivors.len() as u64 {
        return Err(StoreError::Damaged("a lease that was held"));
    }
    Ok(held.into_keys().collect())
}

/// Held leases by name, each with the start of its request's progress.
async fn find_held(
    settlements: &[&Settlement],
    write: &mut WriteTransaction<'_>,
) -> Result<HashMap<LeaseName, (i64, Held)>, StoreError> {
    let mut values = Vec::with_capacity(5 * settlements.len());
    for settlement in settlements {
        leases::push_key(&mut values, &settlement.lease.key);
        values.push(settlement.lease.epoch.into());
    }
    let rows = write.tx.fetch(HELD.over([write.node.key.into()], values)).await?;
    let read = |row: &Row| Ok((read_name(row)?, (row.get("in_progress_at")?, Held::read(row)?)));
    rows.iter().map(read).collect()
}

fn survivors_statements(survivors: &[Survivor<'_>]) -> [Statement; 3] {
    let count = survivors.len();
    let (mut keys, mut states, mut results) =
        (Vec::with_capacity(4 * count), Vec::with_capacity(5 * count), Vec::with_capacity(7 * count));
    for Survivor { settlement, in_progress_at, ended_at, result_seq } in survivors {
        leases::push_key(&mut keys, &settlement.lease.key);
        let (seq, state) = (settlement.seq(), settlement.ending.code());
        states.extend([seq, state, *in_progress_at, *ended_at, *result_seq].map(Value::from));
        results.extend([*result_seq, seq].map(Value::from));
        let (prompt_tokens, completion_tokens) = settlement.ending.tokens().unzip();
        results.extend([prompt_tokens, completion_tokens].map(Value::from));
        results.push(settlement.body.clone().into());
        results.push(settlement.warnings.clone().into());
        results.push(settlement.engine_name().into());
    }
    [LEAVE.over([], keys), END.over([], states), STORE.over([], results)]
}
