//! The end of a leased request: guard first, then write for the survivors only. A settle whose lease is no longer
//! held (cancelled, expired, voided, leased again) touches nothing.

use std::collections::HashSet;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::Lease;
use sqlx::Row;

use super::leases::{self, not_of_cancelled_batch};
use super::rows::{RowsStatement, chunks};
use super::writer::{Job, Lane, Operation, Unit};
use super::{Store, StoreError, row};

/// How a leased request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The engine answered; the body is its completion.
    Completed {
        /// Tokens read.
        prompt_tokens: i64,
        /// Tokens written.
        completion_tokens: i64,
    },
    /// It failed for good; the body is its error.
    Failed,
}

/// The end of a leased request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// The lease that it ends.
    pub lease: Lease,
    /// How it ended.
    pub ending: Ending,
    /// The `result_body`: JSON without white space outside strings.
    pub body: Vec<u8>,
    /// When, in milliseconds.
    pub now: i64,
}

impl Settlement {
    const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }
}

/// Stores the end of a leased request; `false` where the lease was no longer held, and nothing changed.
pub async fn settle(store: &Store, settlement: Settlement) -> Result<bool, StoreError> {
    store.writer().write(settlement).await
}

pub(super) static GUARD: RowsStatement = RowsStatement::new(
    concat!(
        "DELETE FROM queue WHERE phase = 1 AND owner = ? AND ",
        not_of_cancelled_batch!(),
        " AND (model, account, sort_key, seq, lease_epoch) IN (VALUES"
    ),
    5,
    ") RETURNING seq, lease_epoch",
);

pub(super) static MOVE: RowsStatement = RowsStatement::new(
    "WITH v(seq, state, ended_at, result_seq) AS (VALUES",
    4,
    ") UPDATE progress SET state = v.state, ended_at = max(v.ended_at, progress.in_progress_at),
          result_seq = v.result_seq
       FROM v WHERE progress.seq = v.seq AND progress.state = 2 RETURNING progress.batch, progress.state",
);

static KEEP: RowsStatement = RowsStatement::new(
    "INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body) VALUES",
    5,
    "",
);

impl Operation for Settlement {
    type Answer = bool;
    const LANE: Lane = Lane::Control;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<bool>, StoreError> {
        let mut held = guard(jobs, unit).await?;
        let first = unit.sequences.result;
        let mut survivors: Vec<(i64, &Self)> = Vec::with_capacity(held.len());
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            let settled = held.remove(&(job.operation.seq(), job.operation.lease.epoch));
            if settled {
                survivors.push((first + survivors.len() as i64, &job.operation));
            }
            answers.push(settled);
        }
        unit.sequences.result += survivors.len() as i64;
        move_progress(&survivors, unit).await?;
        KEEP.execute(&mut unit.tx, &survivors, |statement, (result_seq, settlement)| {
            let (prompt_tokens, completion_tokens) = settlement.ending.tokens();
            statement
                .bind(*result_seq)
                .bind(settlement.seq())
                .bind(prompt_tokens)
                .bind(completion_tokens)
                .bind(settlement.body.clone())
        })
        .await?;
        Ok(answers)
    }
}

/// Takes the rows out of the queue whose lease is held; these leases, by `seq` and epoch.
async fn guard(jobs: &[Job<Settlement>], unit: &mut Unit<'_>) -> Result<HashSet<(i64, i64)>, StoreError> {
    let mut held = HashSet::with_capacity(jobs.len());
    for chunk in chunks(jobs) {
        let statement = GUARD.of(chunk.len()).bind(unit.owner.0);
        let statement = chunk.iter().fold(statement, |statement, job| {
            let Lease { key, epoch } = &job.operation.lease;
            leases::bind_key(statement, key).bind(*epoch)
        });
        for row in unit.tx.fetch(statement).await? {
            held.insert((row.try_get(0)?, row.try_get(1)?));
        }
    }
    Ok(held)
}

async fn move_progress(survivors: &[(i64, &Settlement)], unit: &mut Unit<'_>) -> Result<(), StoreError> {
    let now = survivors.iter().map(|(_, settlement)| settlement.now).max().unwrap_or(0);
    for chunk in chunks(survivors) {
        let statement = chunk.iter().fold(MOVE.of(chunk.len()), |statement, (result_seq, settlement)| {
            statement
                .bind(settlement.seq())
                .bind(settlement.ending.code())
                .bind(settlement.now)
                .bind(*result_seq)
        });
        for row in unit.tx.fetch(statement).await? {
            let to = row::status(row.try_get(1)?)?;
            unit.shift(row.try_get(0)?, RequestStatus::InProgress, to, now);
        }
    }
    Ok(())
}

impl Ending {
    const fn code(self) -> i64 {
        match self {
            Self::Completed { .. } => row::COMPLETED,
            Self::Failed => row::FAILED,
        }
    }

    const fn tokens(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Completed { prompt_tokens, completion_tokens } => {
                (Some(prompt_tokens), Some(completion_tokens))
            }
            Self::Failed => (None, None),
        }
    }
}
