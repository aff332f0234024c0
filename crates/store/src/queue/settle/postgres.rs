//! Ends on PostgreSQL, in one statement.

use std::collections::{HashMap, HashSet};

use crate::StoreError;
use crate::database::{Statement, Value, statements};
use crate::queue::leases;
use crate::queue::settle::{Held, LeaseName, Settlement, read_name};
use crate::writes::WriteTransaction;

statements! {
    /// In one statement: deleted queue rows decide for which requests the rest is written. Results are taken from the array that was sent:
    /// PostgreSQL copies the columns of `v` several times.
    END over [Integer, Integer, Bytes, Integer, Integer, Integer, Integer, Integer, Integer, Bytes, Bytes, Text] = {
        postgres: "WITH v AS (
                SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[],
                                     $8::bigint[], $9::bigint[], $10::bigint[]) WITH ORDINALITY
                    AS v(model, account, sort_key, seq, lease_epoch, state, ended_at, prompt_tokens, completion_tokens, place)
            ), gone AS (
                DELETE FROM queue q USING v
                WHERE q.model = v.model AND q.account = v.account AND q.sort_key = v.sort_key AND q.seq = v.seq
                  AND q.phase = 1 /* leased */ AND q.lease_epoch = v.lease_epoch AND q.node = $1
                  AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.seq = q.batch AND b.cancelled_at IS NOT NULL)
                RETURNING q.seq, q.lease_epoch, q.batch, q.lane, q.in_progress_at,
                          greatest(v.ended_at, q.in_progress_at) AS ended_at,
                          v.state, v.prompt_tokens, v.completion_tokens, v.place
            ), numbered AS (
                SELECT nextval('results_seq_seq') AS result_seq, gone.* FROM gone
            ), moved AS (
                UPDATE request_states rs SET state = n.state, in_progress_at = n.in_progress_at, ended_at = n.ended_at,
                       result_seq = n.result_seq FROM numbered n WHERE rs.seq = n.seq
                RETURNING n.seq, n.lease_epoch, n.batch, n.lane, n.ended_at, n.result_seq, rs.hold, rs.price, rs.api_key
            ), stored AS (
                INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body, warnings, engine)
                SELECT result_seq, seq, prompt_tokens, completion_tokens, ($11::bytea[])[place], ($12::bytea[])[place], ($13::text[])[place]
                FROM numbered
            ) SELECT m.seq, m.lease_epoch, m.batch, m.result_seq, m.hold, x.input, x.output, m.lane, m.ended_at, m.api_key
              FROM moved m LEFT JOIN price_points x ON x.seq = m.price",
    };
}

pub(crate) fn end_by(settlements: &[&Settlement], node: i64) -> Statement {
    let mut values = Vec::with_capacity(12 * settlements.len());
    for settlement in settlements {
        leases::push_key(&mut values, &settlement.lease.key);
        values.push(settlement.lease.epoch.into());
        values.push(settlement.ending.code().into());
        values.push(settlement.now.into());
        let (prompt_tokens, completion_tokens) = settlement.ending.tokens().unzip();
        values.extend([prompt_tokens, completion_tokens].map(Value::from));
        values.push(settlement.body.clone().into());
        values.push(settlement.warnings.clone().into());
        values.push(settlement.engine_name().into());
    }
    END.over([node.into()], values)
}

pub(super) async fn end(
    mut settlements: Vec<&Settlement>,
    write: &mut WriteTransaction<'_>,
) -> Result<HashSet<LeaseName>, StoreError> {
    // Every node locks in this order.
    settlements.sort_unstable_by_key(|settlement| settlement.seq());
    let statement = end_by(&settlements, write.node.key);
    let by_name: HashMap<LeaseName, &Settlement> =
        settlements.into_iter().map(|settlement| (settlement.name(), settlement)).collect();
    let mut ended = HashSet::new();
    for row in write.tx.fetch(statement).await? {
        let name = read_name(&row)?;
        if let Some(settlement) = by_name.get(&name) {
            settlement.note_effects(&Held::read(&row)?, row.get("result_seq")?, row.get("ended_at")?, write);
        }
        ended.insert(name);
    }
    Ok(ended)
}
