//! Requests that outlive their completion window fail.

use sqlx::Row;

use super::endings::{Live, live_columns};
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError};

/// Fails the live requests whose deadline has come by `now`, `limit` at most, each with `error_body` as its result;
/// the requests that ended, by `seq`.
pub async fn expire(
    store: &Store,
    now: i64,
    limit: u32,
    error_body: Vec<u8>,
) -> Result<Vec<i64>, StoreError> {
    store.writer().write(Expire { now, limit, error_body }).await
}

/// The earliest deadline of any live request, in milliseconds.
pub async fn next_deadline(store: &Store) -> Result<Option<i64>, StoreError> {
    let text = "SELECT min((SELECT min(p.deadline) FROM progress p WHERE p.model = m.seq AND p.state < 3))
                FROM models m";
    Ok(sqlx::query(text).fetch_one(store.readers()).await?.try_get(0)?)
}

pub(super) struct Expire {
    now: i64,
    limit: u32,
    error_body: Vec<u8>,
}

/// Overdue requests, model by model, because the index of live deadlines is by model.
pub(super) const OVERDUE: &str = concat!(
    "SELECT ",
    live_columns!(),
    " FROM models m CROSS JOIN progress p ON p.model = m.seq WHERE p.state < 3 AND p.deadline <= ? LIMIT ?"
);

impl Operation for Expire {
    type Answer = Vec<i64>;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.limit as usize
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Vec<i64>>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation, .. } in jobs {
            let select = sqlx::query(OVERDUE).bind(operation.now).bind(operation.limit);
            let mut ended = Vec::new();
            for row in unit.tx.fetch(select).await? {
                let live = Live::read(&row)?;
                let Ok(failed) = live.state.fail(operation.now) else { continue };
                ended.push(live.seq);
                let result_seq = unit.sequences.result;
                unit.sequences.result += 1;
                let text = "INSERT INTO results (seq, request, body) VALUES (?, ?, ?)";
                let insert =
                    sqlx::query(text).bind(result_seq).bind(live.seq).bind(operation.error_body.clone());
                unit.tx.execute(insert).await?;
                live.end(unit, failed, Some(result_seq), operation.now).await?;
            }
            answers.push(ended);
        }
        Ok(answers)
    }
}
