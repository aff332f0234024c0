//! The end of a leased request: guard first, then write for the survivors only. A settle whose lease is no longer
//! held (cancelled, expired, voided, leased again) touches nothing.

use std::collections::HashMap;
use std::sync::Arc;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::Lease;

use super::leases;
use super::rows::{Part, RowsStatement, chunks, read_joined};
use super::tx::Statement;
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

    /// Takes the number of its result and moves its batch's counters.
    fn survive(&self, held: &Held, unit: &mut Unit<'_>) -> Survivor<'_> {
        let result_seq = unit.sequences.result;
        unit.sequences.result += 1;
        unit.shift(held.batch, RequestStatus::InProgress, self.ending.status(), self.now);
        Survivor { settlement: self, in_progress_at: held.in_progress_at, result_seq }
    }
}

/// Stores the end of a leased request; `false` where the lease was no longer held, and nothing changed.
pub async fn settle(store: &Store, settlement: Settlement) -> Result<bool, StoreError> {
    Ok(settle_all(store, [settlement].into()).await?.contains(&true))
}

/// As [`settle`] for each of them, in one transaction.
pub async fn settle_all(store: &Store, settlements: Arc<[Settlement]>) -> Result<Vec<bool>, StoreError> {
    store.writer().write(Settle { settlements }).await
}

pub(super) struct Settle {
    settlements: Arc<[Settlement]>,
}

/// The leases that are held, each with its request's batch and since when it is in progress. A batch that is marked cancelled holds its requests back:
/// they end with the next chunk of its cancel.
pub(super) static HELD: RowsStatement = RowsStatement::new(
    "WITH v(model, account, sort_key, seq, lease_epoch) AS (VALUES",
    5,
    ") SELECT group_concat(concat(q.seq, ',', q.lease_epoch, ',', q.in_progress_at, ',', p.batch), ';') FROM v
       CROSS JOIN queue q ON q.model = v.model AND q.account = v.account
                         AND q.sort_key = v.sort_key AND q.seq = v.seq
       CROSS JOIN progress p ON p.seq = q.seq LEFT JOIN batches b ON b.seq = p.batch
       WHERE q.phase = 1 AND q.lease_epoch = v.lease_epoch AND b.cancelled_at IS NULL
         AND q.owner = ?",
);

/// Ends them.
pub(super) static END: RowsStatement<3> = RowsStatement::all([
    Part {
        head: "DELETE FROM queue WHERE (model, account, sort_key, seq) IN (VALUES",
        columns: 4,
        tail: ")",
    },
    Part {
        head: "WITH v(seq, state, in_progress_at, ended_at, result_seq) AS (VALUES",
        columns: 5,
        tail:
            ") UPDATE progress SET state = v.state, in_progress_at = v.in_progress_at, ended_at = v.ended_at,
                 result_seq = v.result_seq FROM v WHERE progress.seq = v.seq",
    },
    Part {
        head: "INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body) VALUES",
        columns: 5,
        tail: "",
    },
]);

impl Operation for Settle {
    type Answer = Vec<bool>;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.settlements.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Vec<bool>>, StoreError> {
        let settlements: Vec<&Settlement> =
            jobs.iter().flat_map(|job| job.operation.settlements.iter()).collect();
        let mut held = find_held(&settlements, unit).await?;
        let mut survivors = Vec::with_capacity(held.len());
        let mut answers = Vec::with_capacity(jobs.len());
        for Job { operation, .. } in jobs {
            let settled = operation.settlements.iter().map(|settlement| {
                let found = held.remove(&(settlement.seq(), settlement.lease.epoch));
                survivors.extend(found.map(|held| settlement.survive(&held, unit)));
                found.is_some()
            });
            answers.push(settled.collect());
        }
        for chunk in chunks(&survivors) {
            let touched = unit.tx.execute(bind_end(chunk)).await?;
            if touched != 3 * chunk.len() as u64 {
                return Err(StoreError::Damaged("a lease that was held"));
            }
        }
        Ok(answers)
    }
}

/// What the queue and its batch say of a lease.
#[derive(Clone, Copy)]
struct Held {
    in_progress_at: i64,
    batch: Option<i64>,
}

/// A settlement whose lease is held, and the number of its result.
struct Survivor<'a> {
    settlement: &'a Settlement,
    in_progress_at: i64,
    result_seq: i64,
}

/// The leases that are held, by `seq` and epoch.
async fn find_held(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashMap<(i64, i64), Held>, StoreError> {
    let mut held = HashMap::with_capacity(settlements.len());
    for chunk in chunks(settlements) {
        let statement = chunk.iter().fold(HELD.of(chunk.len()), |statement, settlement| {
            let Lease { key, epoch } = &settlement.lease;
            leases::bind_key(statement, key).bind(*epoch)
        });
        let rows = unit.tx.fetch(statement.bind(unit.owner.0)).await?;
        for [seq, epoch, in_progress_at, batch] in read_joined(&rows)? {
            let in_progress_at = in_progress_at.ok_or(StoreError::Damaged("a lease without its time"))?;
            held.extend(seq.zip(epoch).map(|lease| (lease, Held { in_progress_at, batch })));
        }
    }
    Ok(held)
}

fn bind_end(survivors: &[Survivor<'_>]) -> Statement<'static> {
    let statement = END.of(survivors.len());
    let statement = survivors
        .iter()
        .fold(statement, |statement, survivor| leases::bind_key(statement, &survivor.settlement.lease.key));
    let statement = survivors.iter().fold(statement, |statement, survivor| {
        let Survivor { settlement, in_progress_at, result_seq } = survivor;
        statement
            .bind(settlement.seq())
            .bind(settlement.ending.code())
            .bind(*in_progress_at)
            .bind(settlement.now.max(*in_progress_at))
            .bind(*result_seq)
    });
    survivors.iter().fold(statement, |statement, Survivor { settlement, result_seq, .. }| {
        let (prompt_tokens, completion_tokens) = settlement.ending.tokens();
        statement
            .bind(*result_seq)
            .bind(settlement.seq())
            .bind(prompt_tokens)
            .bind(completion_tokens)
            .bind(settlement.body.clone())
    })
}

impl Ending {
    const fn code(self) -> i64 {
        match self {
            Self::Completed { .. } => row::COMPLETED,
            Self::Failed => row::FAILED,
        }
    }

    const fn status(self) -> RequestStatus {
        match self {
            Self::Completed { .. } => RequestStatus::Completed,
            Self::Failed => RequestStatus::Failed,
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
