//! Claiming events for delivery.

use std::collections::BTreeMap;

use bytes::Bytes;
use overnight_domain::ids::{EventId, RequestId};
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::traces::TraceContext;
use overnight_domain::webhooks::{DeliveryLane, Event, Subject};

use crate::database::{Row, Value, statements};
use crate::event_states::kind_of;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub seq: i64,
    pub id: EventId,
    pub account: AccountKey,
    pub number: i64,
    pub url: String,
    pub payload: Payload,
    /// `None` for a batch's event or a receiver test.
    pub request: Option<RequestId>,
    /// The request's span; `None` if it is not traced.
    pub trace: Option<TraceContext>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// As sent before.
    Kept(Bytes),
    /// Not sent yet; made from this.
    Of(Box<Event>),
}

statements! {
    /// With its request or batch; one of them is set.
    FIND_DUE = "SELECT e.seq AS event, e.id AS event_id, e.account, e.kind, e.number, e.payload, e.created_at AS happened_at,
               coalesce(e.url, r.webhook, b.webhook) AS url, r.id IS NOT NULL AS is_of_request,
               coalesce(r.id, b.id) AS id, coalesce(r.created_at, b.created_at) AS created_at,
               coalesce(rs.in_progress_at, b.in_progress_at) AS in_progress_at,
               rs.state, rs.ready_at, rs.ended_at, r.expires_at, r.trace,
               b.completed_at, b.cancelled_at, b.registered, b.in_progress, b.completed, b.failed, b.cancelled
        FROM events e LEFT JOIN requests r ON r.seq = e.request LEFT JOIN request_states rs ON rs.seq = e.request
        LEFT JOIN batches b ON b.seq = e.batch
        WHERE e.lane = ? AND e.due_at IS NOT NULL AND e.due_at <= ? ORDER BY e.due_at, e.seq LIMIT ?";
    IS_ALIVE = {
        sqlite: "SELECT 1 FROM nodes WHERE seq = ?",
        postgres: "SELECT 1 FROM nodes WHERE seq = ? FOR KEY SHARE",
    };
    /// Skips rows that another node is writing.
    TAKE over [Integer, Integer, Text, Bytes] = {
        sqlite: "UPDATE events SET node = ?1, claimed_at = ?2, due_at = NULL, number = number + 1,
                   url = coalesce(url, ?5), payload = coalesce(payload, ?6)
            WHERE seq = ?3 AND number = ?4 AND due_at IS NOT NULL RETURNING seq, failures, tries_max",
        postgres: "WITH w AS (
                SELECT e.seq, v.leads_to, v.sent
                FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) AS v(event, tried, leads_to, sent)
                CROSS JOIN LATERAL (
                    SELECT seq FROM events WHERE seq = v.event AND number = v.tried AND due_at IS NOT NULL
                    FOR UPDATE SKIP LOCKED) e
            ) UPDATE events SET node = $1, claimed_at = $2, due_at = NULL, number = number + 1,
                     url = coalesce(url, w.leads_to), payload = coalesce(payload, w.sent)
              FROM w WHERE events.seq = w.seq RETURNING events.seq, events.failures, events.tries_max",
    };
}

/// Due at `now`, longest due first, up to `limit`.
pub async fn find_due(
    store: &Store,
    lane: DeliveryLane,
    now: i64,
    limit: usize,
) -> Result<Vec<Due>, StoreError> {
    let query = FIND_DUE.bind(lane.0).bind(now).bind(limit as i64);
    store.readers().fetch_all(query).await?.iter().map(read).collect()
}

fn read(row: &Row) -> Result<Due, StoreError> {
    let payload = match row.get("payload")? {
        Some(payload) => Payload::Kept(payload),
        None => Payload::Of(Box::new(read_event(row)?)),
    };
    Ok(Due {
        seq: row.get("event")?,
        id: row.get("event_id")?,
        account: row.get("account")?,
        number: row.get("number")?,
        url: row.get("url")?,
        payload,
        request: row.get::<bool>("is_of_request")?.then(|| row.get("id")).transpose()?,
        trace: row::trace(row)?,
    })
}

/// Its request or batch has ended, and will not change.
fn read_event(row: &Row) -> Result<Event, StoreError> {
    let subject = if row.get("is_of_request")? {
        Subject::Request(row::request_summary(row)?)
    } else {
        Subject::Batch(BatchRecord {
            id: row.get("id")?,
            created_at: row.get("created_at")?,
            state: row::batch_state(row)?,
            counters: row::counters(row)?,
            webhook: None,
            metadata: None,
        })
    };
    let kind = kind_of(row.get("kind")?)?;
    Ok(Event { id: row.get("event_id")?, kind, created_at: row.get("happened_at")?, subject })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub seq: i64,
    /// Tries when it was read.
    pub number: i64,
    /// Kept with the event from now on.
    pub url: String,
    /// Kept with the event from now on: every try sends the same bytes.
    pub payload: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claimed {
    /// Consecutive failures.
    pub failures: i64,
    /// Consecutive failures before it is given up; `None` for the schedule's.
    pub tries_max: Option<u32>,
}

/// By `seq`.
pub type ClaimedEvents = BTreeMap<i64, Claimed>;

/// Claims events that are still due and were not tried since they were read. Returns those claimed, in their present state, because a
/// replay may have changed them. They belong to this process until it reports a result, or dies.
pub async fn claim(store: &Store, claims: Vec<Claim>, now: i64) -> Result<ClaimedEvents, StoreError> {
    store.writer().write(ClaimEvents { claims, now }).await
}

pub(crate) struct ClaimEvents {
    claims: Vec<Claim>,
    now: i64,
}

impl Operation for ClaimEvents {
    type Answer = ClaimedEvents;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ClaimEvents;

    fn rows(&self) -> usize {
        self.claims.len()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<ClaimedEvents>, StoreError> {
        // A removed node claims no event before its next heartbeat: no peer would reclaim it.
        if write.tx.fetch(IS_ALIVE.bind(write.node.key)).await?.is_empty() {
            return Ok(vec![BTreeMap::new(); jobs.len()]);
        }
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.take(write).await?);
        }
        Ok(answers)
    }
}

impl ClaimEvents {
    async fn take(&self, write: &mut WriteTransaction<'_>) -> Result<ClaimedEvents, StoreError> {
        let values = |claim: &Claim| -> [Value; 4] {
            let Claim { seq, number, url, payload } = claim;
            [(*seq).into(), (*number).into(), url.as_str().into(), payload.clone().into()]
        };
        let shared = [write.node.key, self.now].map(Value::from);
        let rows = write.tx.fetch(TAKE.over(shared, self.claims.iter().flat_map(values).collect())).await?;
        let read = |row: &Row| {
            let (failures, tries_max) = (row.get("failures")?, row.get("tries_max")?);
            Ok((row.get("seq")?, Claimed { failures, tries_max }))
        };
        rows.iter().map(read).collect()
    }
}
