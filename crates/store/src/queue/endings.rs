//! Ends of requests without an engine's answer: a cancel, a cancelled batch, a passed deadline. The holder of a lease finds its queue row
//! gone, so a late answer has no effect.

use std::collections::HashMap;

use bytes::Bytes;
use overnight_domain::requests::{InvalidTransition, RequestState, RequestStatus};

use crate::StoreError;
use crate::database::{Dialect, Row, Value, statements};
use crate::effects::EndedRequest;
use crate::row;
use crate::writes::WriteTransaction;

pub(crate) struct Live {
    pub(crate) seq: i64,
    pub(crate) state: RequestState,
    model: i64,
    account: i64,
    sort_key: Vec<u8>,
}

impl Live {
    /// Reads `seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at`.
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.get("seq")?,
            model: row.get("model")?,
            account: row.get("account")?,
            sort_key: row.get("sort_key")?,
            state: row::request_state(row)?,
        })
    }
}

pub(crate) enum End {
    /// By their client, or their batch's.
    Cancelled,
    /// With this `result_body`.
    Failed(Bytes),
}

statements! {
    /// Takes requests out of the queue; returns those that were in it, and since when they are in progress.
    LEAVE over [Integer, Integer, Bytes, Integer] = {
        sqlite: "DELETE FROM queue WHERE model = ?1 AND account = ?2 AND sort_key = ?3 AND seq = ?4
            RETURNING seq, in_progress_at",
        postgres: "DELETE FROM queue WHERE (model, account, sort_key, seq) IN (
                SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bigint[]))
            RETURNING seq, in_progress_at",
    };
    /// Ends requests that are still in the expected state.
    END over [Integer, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "UPDATE request_states SET state = ?3, ready_at = ?4, in_progress_at = ?5, ended_at = ?6, result_seq = ?7
            WHERE seq = ?1 AND state = ?2 RETURNING seq, batch, result_seq, account, hold, lane",
        postgres: "UPDATE request_states SET state = v.new_state, ready_at = v.still_ready_at, in_progress_at = v.started_at,
                   ended_at = v.stopped_at, result_seq = v.result
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(request, believed, new_state, still_ready_at, started_at, stopped_at, result)
            WHERE seq = v.request AND state = v.believed RETURNING seq, batch, result_seq, account, hold, lane",
    };
    STORE_ERROR over [Integer, Integer, Bytes] = {
        sqlite: "INSERT INTO results (seq, request, body) VALUES (?1, ?2, ?3)",
        postgres: "INSERT INTO results (seq, request, body)
            SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS v(seq, request, body)",
    };
    READ_AGAIN over [Integer] = {
        sqlite: "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
            WHERE seq = ?1",
        postgres: "SELECT seq, model, account, sort_key, state, ready_at, in_progress_at, ended_at FROM current_states
            WHERE seq = ANY ($1::bigint[])",
    };
}

/// Ends live requests at `now`: takes them out of the queue, updates their batches' counters and adds events; returns those that were live,
/// by `seq`.
///
/// Other nodes may have changed them since they were read: the node that ends a request deletes its queue row, so the row decides who may
/// end it and whether it was in progress. A request that gathered and has been released since is looked at again.
pub(crate) async fn end_all(
    mut lives: Vec<Live>,
    end: &End,
    now: i64,
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<i64>, StoreError> {
    let mut ended = Vec::with_capacity(lives.len());
    while !lives.is_empty() {
        // Every node locks in this order.
        lives.sort_unstable_by_key(|live| live.seq);
        let mut states = leave_queue(&lives, write).await?;
        let gathering = lives.iter().filter(|live| live.is_gathering());
        states.extend(gathering.map(|live| (live.seq, live.state)));
        ended.extend(end_progress(&mut states, end, now, write).await?);
        lives = read_again(states.into_keys(), write).await?;
    }
    Ok(ended)
}

/// Takes requests out of the queue; returns their states in it, by `seq`.
async fn leave_queue(
    lives: &[Live],
    write: &mut WriteTransaction<'_>,
) -> Result<HashMap<i64, RequestState>, StoreError> {
    let queued = lives.iter().filter(|live| !live.is_gathering());
    let key = |live: &Live| -> [Value; 4] {
        [live.model.into(), live.account.into(), live.sort_key.as_slice().into(), live.seq.into()]
    };
    let rows = write.tx.fetch(LEAVE.over([], queued.flat_map(key).collect())).await?;
    let state = |row: &Row| {
        let state = match row.get("in_progress_at")? {
            Some(in_progress_at) => RequestState::InProgress { in_progress_at },
            None => RequestState::Queued,
        };
        Ok((row.get("seq")?, state))
    };
    rows.iter().map(state).collect()
}

/// Ends requests that are still in the expected state, and removes them from `states`; by `seq`.
async fn end_progress(
    states: &mut HashMap<i64, RequestState>,
    end: &End,
    now: i64,
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<i64>, StoreError> {
    if states.is_empty() {
        return Ok(Vec::new());
    }
    let mut numbers = match end {
        End::Failed(_) => write.draw_results(states.len()).await?.into_iter(),
        End::Cancelled => Vec::new().into_iter(),
    };
    let mut order: Vec<(i64, RequestState)> = states.iter().map(|(seq, state)| (*seq, *state)).collect();
    order.sort_unstable_by_key(|(seq, _)| *seq);
    let mut values: Vec<Value> = Vec::with_capacity(7 * order.len());
    for (seq, from) in order {
        let Ok(to) = end.apply(from, now) else { continue };
        // On PostgreSQL only gathering requests are in the index of `ready_at`.
        let ready_at = Some(0).filter(|_| write.tx.dialect() == Dialect::Sqlite);
        values.extend([seq, row::stored_code(&from), row::code(&to)].map(Value::from));
        values.extend([ready_at, to.in_progress_at(), to.ended_at(), numbers.next()].map(Value::from));
    }
    let (mut ended, mut errors) = (Vec::with_capacity(states.len()), Vec::new());
    for row in write.tx.fetch(END.over([], values)).await? {
        let seq = row.get("seq")?;
        let Some(from) = states.remove(&seq) else { continue };
        // Another node's clock may be ahead: a request must not end before it began.
        let ended_at = now.max(from.in_progress_at().unwrap_or(now));
        write.effects.ended(&EndedRequest {
            seq,
            account: row.get("account")?,
            batch: row.get("batch")?,
            lane: row.get("lane")?,
            hold: row.get("hold")?,
            result_bytes: end.result_bytes(),
            from: from.status(),
            to: end.status(),
            now,
            ended_at,
        });
        ended.push(seq);
        if let (Some(result_seq), End::Failed(body)) = (row.get::<Option<i64>>("result_seq")?, end) {
            errors.extend([Value::from(result_seq), seq.into(), body.clone().into()]);
        }
    }
    write.tx.execute(STORE_ERROR.over([], errors)).await?;
    Ok(ended)
}

async fn read_again(
    seqs: impl Iterator<Item = i64>,
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<Live>, StoreError> {
    let rows = write.tx.fetch(READ_AGAIN.over([], seqs.map(Value::from).collect())).await?;
    let mut lives = rows.iter().map(Live::read).collect::<Result<Vec<_>, _>>()?;
    lives.retain(|live| !live.state.is_terminal());
    Ok(lives)
}

impl Live {
    const fn is_gathering(&self) -> bool {
        matches!(self.state, RequestState::Gathering { .. })
    }
}

impl End {
    fn apply(&self, from: RequestState, now: i64) -> Result<RequestState, InvalidTransition> {
        match self {
            Self::Cancelled => from.cancel(now),
            Self::Failed(_) => from.fail(now),
        }
    }

    const fn result_bytes(&self) -> i64 {
        match self {
            Self::Cancelled => 0,
            Self::Failed(body) => body.len() as i64,
        }
    }

    const fn status(&self) -> RequestStatus {
        match self {
            Self::Cancelled => RequestStatus::Cancelled,
            Self::Failed(_) => RequestStatus::Failed,
        }
    }
}
