//! What came of a try. It counts if the event is still this process's, tried as often as it was then.

use std::collections::HashSet;
use std::sync::Arc;

use crate::store::database::{Value, statements};
use crate::store::event_states::EventState;
use crate::store::write_transaction::WriteTransaction;
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::WriteOrder;
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

statements! {
    CONCLUDE over [Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "UPDATE events SET node = NULL, state = ?4, due_at = ?5, ended_at = ?6, failures = ?7
            WHERE seq = ?2 AND number = ?3 AND node = ?1 RETURNING seq",
        postgres: "UPDATE events
            SET node = NULL, state = v.new_state, due_at = v.next_at, ended_at = v.stopped_at, failures = v.failed
            FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(event, try, new_state, next_at, stopped_at, failed)
            WHERE seq = v.event AND number = v.try AND node = $1 RETURNING seq",
    };
    NOTE over [Integer, Integer, Integer, Integer, Integer, Text] = {
        sqlite: "INSERT INTO deliveries (event, number, account, started_at, duration_ms, status, failure)
            SELECT ?1, ?2, e.account, ?3, ?4, ?5, ?6 FROM events e WHERE e.seq = ?1",
        postgres: "INSERT INTO deliveries (event, number, account, started_at, duration_ms, status, failure)
            SELECT v.event, v.number, e.account, v.started_at, v.duration_ms, v.status, v.failure
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
                AS v(event, number, started_at, duration_ms, status, failure)
            JOIN events e ON e.seq = v.event",
    };
}

impl Operation for ConcludeTries {
    type Answer = Vec<bool>;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ConcludeAttempts;

    fn rows(&self) -> usize {
        self.conclusions.len()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Vec<bool>>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.conclude(write).await?);
        }
        Ok(answers)
    }
}

impl ConcludeTries {
    async fn conclude(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<bool>, StoreError> {
        let mut counted = HashSet::with_capacity(self.conclusions.len());
        let values = self.conclusions.iter().flat_map(Conclusion::event).collect();
        for row in write.tx.fetch(CONCLUDE.over([write.node.key.into()], values)).await? {
            counted.insert(row.get::<i64>("seq")?);
        }
        let is_counted = |conclusion: &&Conclusion| counted.contains(&conclusion.seq);
        let tries = self.conclusions.iter().filter(is_counted).flat_map(Conclusion::delivery).collect();
        write.tx.execute(NOTE.over([], tries)).await?;
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
