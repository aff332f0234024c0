//! What came of a try. It counts if the event is still this process's, tried as often as it was then.

use std::collections::HashSet;
use std::sync::Arc;

use super::states::EventState;
use crate::store::sql::{Kind, RowsStatement, Value, chunks};
use crate::store::writer::{Job, Lane, Operation, Unit};
use crate::store::{Store, StoreError};

/// What came of a try. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conclusion {
    /// The event.
    pub seq: i64,
    /// Which of its tries it was, counted from 1.
    pub number: i64,
    /// When it began.
    pub started_at: i64,
    /// How long it took.
    pub duration_ms: i64,
    /// The HTTP status of the answer, if one came.
    pub status: Option<u16>,
    /// Why none came.
    pub failure: Option<&'static str>,
    /// How often in a row it has failed now.
    pub failures: i64,
    /// What the event is from now on.
    pub state: EventState,
    /// When it is tried again, if it is.
    pub due_at: Option<i64>,
    /// When the try ended.
    pub now: i64,
}

/// Notes tries and what becomes of their events, in one transaction; whether each counted.
pub async fn conclude_all(store: &Store, conclusions: Arc<[Conclusion]>) -> Result<Vec<bool>, StoreError> {
    store.writer().write(ConcludeTries { conclusions }).await
}

pub(in crate::store) struct ConcludeTries {
    conclusions: Arc<[Conclusion]>,
}

pub(in crate::store) static CONCLUDE: RowsStatement = RowsStatement::new(
    "WITH v(event, try, new_state, next_at, stopped_at, failed) AS (",
    &[Kind::Integer; 6],
    ") UPDATE events SET owner = NULL, state = v.new_state, due_at = v.next_at, ended_at = v.stopped_at, failures = v.failed
       FROM v WHERE seq = v.event AND number = v.try AND owner = ? RETURNING seq",
);

pub(in crate::store) static NOTE: RowsStatement = RowsStatement::new(
    "WITH v(event, number, started_at, duration_ms, status, failure) AS (",
    &[Kind::Integer, Kind::Integer, Kind::Integer, Kind::Integer, Kind::Integer, Kind::Text],
    ") INSERT INTO deliveries (event, number, account, started_at, duration_ms, status, failure)
       SELECT v.event, v.number, e.account, v.started_at, v.duration_ms, v.status, v.failure
       FROM v JOIN events e ON e.seq = v.event",
);

impl Operation for ConcludeTries {
    type Answer = Vec<bool>;
    const LANE: Lane = Lane::Control;

    fn rows(&self) -> usize {
        self.conclusions.len()
    }

    async fn apply(jobs: &[Job<Self>], unit: &mut Unit<'_>) -> Result<Vec<Vec<bool>>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.conclude(unit).await?);
        }
        Ok(answers)
    }
}

impl ConcludeTries {
    async fn conclude(&self, unit: &mut Unit<'_>) -> Result<Vec<bool>, StoreError> {
        let mut counted = HashSet::with_capacity(self.conclusions.len());
        for chunk in chunks(&self.conclusions) {
            let values = chunk.iter().flat_map(Conclusion::event).collect();
            let update = CONCLUDE.over(unit.tx.dialect(), [], values, [unit.owner.key.into()]);
            for row in unit.tx.fetch(update).await? {
                counted.insert(row.get::<i64>(0)?);
            }
        }
        let is_counted = |conclusion: &&Conclusion| counted.contains(&conclusion.seq);
        let tries: Vec<&Conclusion> = self.conclusions.iter().filter(is_counted).collect();
        for chunk in chunks(&tries) {
            let values = chunk.iter().flat_map(|conclusion| conclusion.delivery()).collect();
            unit.tx.execute(NOTE.over(unit.tx.dialect(), [], values, [])).await?;
        }
        Ok(self.conclusions.iter().map(|conclusion| is_counted(&conclusion)).collect())
    }
}

impl Conclusion {
    fn event(&self) -> [Value; 6] {
        let ended_at = (self.state != EventState::Live).then_some(self.now);
        [
            self.seq.into(),
            self.number.into(),
            self.state.code().into(),
            self.due_at.into(),
            ended_at.into(),
            self.failures.into(),
        ]
    }

    fn delivery(&self) -> [Value; 6] {
        [
            self.seq.into(),
            self.number.into(),
            self.started_at.into(),
            self.duration_ms.into(),
            self.status.map(i64::from).into(),
            self.failure.map(str::to_owned).into(),
        ]
    }
}
