//! The result of a delivery attempt. It counts only while this node holds the event under the same attempt number.

use std::collections::HashSet;
use std::sync::Arc;

use crate::database::{Value, statements};
use crate::event_states::EventState;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptResult {
    pub seq: i64,
    /// The event's tries, from 1.
    pub number: i64,
    pub started_at: i64,
    pub duration_ms: i64,
    /// Of the answer, if any.
    pub status: Option<u16>,
    /// Why there was no answer.
    pub failure: Option<&'static str>,
    /// Consecutive failures.
    pub failures: i64,
    pub state: EventState,
    /// The next try, if any.
    pub due_at: Option<i64>,
    pub now: i64,
}

/// Stores attempts and the new states of their events in one transaction; returns whether each counted.
pub async fn record_attempt_results(
    store: &Store,
    results: Arc<[AttemptResult]>,
) -> Result<Vec<bool>, StoreError> {
    store.writer().write(RecordAttemptResults { results }).await
}

pub(crate) struct RecordAttemptResults {
    results: Arc<[AttemptResult]>,
}

/// The newest tries of an event, which no quota counts.
const TRIES_KEPT: i64 = 100;

statements! {
    RECORD over [Integer, Integer, Integer, Integer, Integer, Integer] = {
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
    FORGET over [Integer, Integer] = {
        sqlite: "DELETE FROM deliveries WHERE event = ?1 AND number <= ?2",
        postgres: "DELETE FROM deliveries d USING unnest($1::bigint[], $2::bigint[]) AS v(event, number)
            WHERE d.event = v.event AND d.number <= v.number",
    };
}

impl Operation for RecordAttemptResults {
    type Answer = Vec<bool>;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::RecordAttemptResults;

    fn rows(&self) -> usize {
        self.results.len()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Vec<bool>>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.record(write).await?);
        }
        Ok(answers)
    }
}

impl RecordAttemptResults {
    async fn record(&self, write: &mut WriteTransaction<'_>) -> Result<Vec<bool>, StoreError> {
        let mut counted = HashSet::with_capacity(self.results.len());
        let values = self.results.iter().flat_map(AttemptResult::event).collect();
        for row in write.tx.fetch(RECORD.over([write.node.key.into()], values)).await? {
            counted.insert(row.get::<i64>("seq")?);
        }
        let is_counted = |result: &&AttemptResult| counted.contains(&result.seq);
        let tries = self.results.iter().filter(is_counted).flat_map(AttemptResult::delivery).collect();
        write.tx.execute(NOTE.over([], tries)).await?;
        let is_replayed = |result: &&AttemptResult| is_counted(result) && result.number > TRIES_KEPT;
        let replayed = self.results.iter().filter(is_replayed);
        let old =
            replayed.flat_map(|result| [result.seq.into(), (result.number - TRIES_KEPT).into()]).collect();
        write.tx.execute(FORGET.over([], old)).await?;
        Ok(self.results.iter().map(|result| is_counted(&result)).collect())
    }
}

impl AttemptResult {
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
