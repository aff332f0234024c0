//! The end of a leased request: guard first, then write for the survivors only. A settle whose lease is no longer
//! held (cancelled, expired, voided, leased again) touches nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::Lease;

use super::leases;
use super::sql::{Dialect, Kind, Part, RowsStatement, Statement, Value, chunks, read_joined};
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

/// A lease by its request and its epoch.
type LeaseName = (i64, i64);

impl Settlement {
    const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }

    const fn name(&self) -> LeaseName {
        (self.seq(), self.lease.epoch)
    }

    /// Moves the counters of the batch that it is in.
    fn shift(&self, batch: Option<i64>, unit: &mut Unit<'_>) {
        unit.shift(batch, RequestStatus::InProgress, self.ending.status(), self.now);
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

impl Operation for Settle {
    type Answer = Vec<bool>;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.settlements.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Vec<bool>>, StoreError> {
        let all = || jobs.iter().flat_map(|job| job.operation.settlements.iter());
        // Of two ends of one lease the first counts.
        let mut names = HashSet::new();
        let distinct: Vec<&Settlement> = all().filter(|settlement| names.insert(settlement.name())).collect();
        let mut ended = match unit.tx.dialect() {
            Dialect::Sqlite => end_on_sqlite(&distinct, unit).await?,
            Dialect::Postgres => end_on_postgres(distinct, unit).await?,
        };
        let mut settled = |settlement: &Settlement| ended.remove(&settlement.name());
        Ok(jobs.iter().map(|job| job.operation.settlements.iter().map(&mut settled).collect()).collect())
    }
}

/// The leases that are held, each with its request's batch and since when it is in progress. A batch that is marked cancelled holds its requests back:
/// they end with the next chunk of its cancel.
pub(super) static HELD: RowsStatement = RowsStatement::new(
    "WITH v(model, account, sort_key, seq, lease_epoch) AS (",
    &[Kind::Integer, Kind::Integer, Kind::Bytes, Kind::Integer, Kind::Integer],
    ") SELECT group_concat(concat(q.seq, ',', q.lease_epoch, ',', q.in_progress_at, ',', q.batch), ';') FROM v
       CROSS JOIN queue q ON q.model = v.model AND q.account = v.account
                         AND q.sort_key = v.sort_key AND q.seq = v.seq
       LEFT JOIN batches b ON b.seq = q.batch
       WHERE q.phase = 1 AND q.lease_epoch = v.lease_epoch AND b.cancelled_at IS NULL
         AND q.owner = ?",
);

/// Ends them.
pub(super) static END: RowsStatement<3> = RowsStatement::all([
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

/// What the queue says of a lease.
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

async fn end_on_sqlite(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashSet<LeaseName>, StoreError> {
    let held = find_held(settlements, unit).await?;
    let mut survivors = Vec::with_capacity(held.len());
    for settlement in settlements {
        let Some(Held { in_progress_at, batch }) = held.get(&settlement.name()).copied() else { continue };
        let result_seq = unit.sequences.result;
        unit.sequences.result += 1;
        settlement.shift(batch, unit);
        survivors.push(Survivor { settlement, in_progress_at, result_seq });
    }
    for chunk in chunks(&survivors) {
        let touched = unit.tx.execute(bind_end(chunk)).await?;
        if touched != 3 * chunk.len() as u64 {
            return Err(StoreError::Damaged("a lease that was held"));
        }
    }
    Ok(held.into_keys().collect())
}

/// The leases that are held, by name.
async fn find_held(
    settlements: &[&Settlement],
    unit: &mut Unit<'_>,
) -> Result<HashMap<LeaseName, Held>, StoreError> {
    let mut held = HashMap::with_capacity(settlements.len());
    for chunk in chunks(settlements) {
        let mut values = Vec::with_capacity(5 * chunk.len());
        for settlement in chunk {
            leases::push_key(&mut values, &settlement.lease.key);
            values.push(settlement.lease.epoch.into());
        }
        let statement = HELD.over(Dialect::Sqlite, [], values, [unit.owner.key.into()]);
        for [seq, epoch, in_progress_at, batch] in read_joined(&unit.tx.fetch(statement).await?)? {
            let in_progress_at = in_progress_at.ok_or(StoreError::Damaged("a lease without its time"))?;
            held.extend(seq.zip(epoch).map(|lease| (lease, Held { in_progress_at, batch })));
        }
    }
    Ok(held)
}

fn bind_end(survivors: &[Survivor<'_>]) -> Statement {
    let mut values: Vec<Value> = Vec::with_capacity(14 * survivors.len());
    for survivor in survivors {
        leases::push_key(&mut values, &survivor.settlement.lease.key);
    }
    for Survivor { settlement, in_progress_at, result_seq } in survivors {
        values.push(settlement.seq().into());
        values.push(settlement.ending.code().into());
        values.push((*in_progress_at).into());
        values.push(settlement.now.max(*in_progress_at).into());
        values.push((*result_seq).into());
    }
    for Survivor { settlement, result_seq, .. } in survivors {
        values.push((*result_seq).into());
        values.push(settlement.seq().into());
        push_result(&mut values, settlement);
    }
    END.with(survivors.len(), values)
}

fn push_result(values: &mut Vec<Value>, settlement: &Settlement) {
    let (prompt_tokens, completion_tokens) = settlement.ending.tokens();
    values.push(prompt_tokens.into());
    values.push(completion_tokens.into());
    values.push(settlement.body.clone().into());
}

/// All of it at once: the rows that are deleted say for whom the rest is written.
static END_ON_POSTGRES: RowsStatement = RowsStatement::new(
    "WITH v(model, account, sort_key, seq, lease_epoch, state, ended_at, prompt_tokens, completion_tokens, body) AS (",
    &[
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Integer,
        Kind::Bytes,
    ],
    "), gone AS (
         DELETE FROM queue q USING v
         WHERE q.model = v.model AND q.account = v.account AND q.sort_key = v.sort_key AND q.seq = v.seq
           AND q.phase = 1 AND q.lease_epoch = v.lease_epoch AND q.owner = ?
           AND NOT EXISTS (SELECT 1 FROM batches b WHERE b.seq = q.batch AND b.cancelled_at IS NOT NULL)
         RETURNING q.seq, q.lease_epoch, q.batch, q.in_progress_at, greatest(v.ended_at, q.in_progress_at) AS ended_at,
                   v.state, v.prompt_tokens, v.completion_tokens, v.body
     ), numbered AS (
         SELECT nextval('results_seq_seq') AS result_seq, gone.* FROM gone
     ), moved AS (
         UPDATE progress p SET state = n.state, in_progress_at = n.in_progress_at, ended_at = n.ended_at,
                result_seq = n.result_seq FROM numbered n WHERE p.seq = n.seq
     ), stored AS (
         INSERT INTO results (seq, request, prompt_tokens, completion_tokens, body)
         SELECT result_seq, seq, prompt_tokens, completion_tokens, body FROM numbered
     ) SELECT seq, lease_epoch, batch FROM gone",
);

pub(super) fn end_on_postgres_by(settlements: &[&Settlement], owner: i64) -> Statement {
    let mut values = Vec::with_capacity(10 * settlements.len());
    for settlement in settlements {
        leases::push_key(&mut values, &settlement.lease.key);
        values.push(settlement.lease.epoch.into());
        values.push(settlement.ending.code().into());
        values.push(settlement.now.into());
        push_result(&mut values, settlement);
    }
    END_ON_POSTGRES.over(Dialect::Postgres, [], values, [owner.into()])
}

async fn end_on_postgres(
    mut settlements: Vec<&Settlement>,
    unit: &mut Unit<'_>,
) -> Result<HashSet<LeaseName>, StoreError> {
    // Everybody locks in this order.
    settlements.sort_unstable_by_key(|settlement| settlement.seq());
    let statement = end_on_postgres_by(&settlements, unit.owner.key);
    let by_name: HashMap<LeaseName, &Settlement> =
        settlements.into_iter().map(|settlement| (settlement.name(), settlement)).collect();
    let mut ended = HashSet::new();
    for row in unit.tx.fetch(statement).await? {
        let name = (row.get(0)?, row.get(1)?);
        if let Some(settlement) = by_name.get(&name) {
            settlement.shift(row.get(2)?, unit);
        }
        ended.insert(name);
    }
    Ok(ended)
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
