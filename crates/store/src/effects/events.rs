//! Events of the outbox, written in the transaction that ends their request or batch.

use std::sync::Arc;

use overnight_domain::ids::EventId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::webhooks::{DeliveryLane, EventKind};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::StoreError;
use crate::database::{Tx, Value, statements};
use crate::event_states::kind_code;

/// Names events, and wakes the deliverer.
#[derive(Clone)]
pub(crate) struct EventContext {
    /// The installation's secret, so that identifiers of events cannot be guessed.
    pub(crate) secret: [u8; 32],
    /// Notified when events are durable; the deliverer waits with `Store::events_written`.
    pub(crate) written: Arc<Notify>,
}

/// The events of a group, written once after the counters.
#[derive(Default)]
pub(crate) struct NewEvents(Vec<NewEvent>);

struct NewEvent {
    subject: EventSubject,
    kind: EventKind,
    lane: DeliveryLane,
    now: i64,
}

#[derive(Clone, Copy)]
enum EventSubject {
    Request(i64),
    Batch(i64),
}

statements! {
    INSERT over [Bytes, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO events (seq, id, account, lane, kind, request, batch, created_at, due_at)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM events),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'events')),
                    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        postgres: "INSERT INTO events (id, account, lane, kind, request, batch, created_at, due_at)
            SELECT v.id, v.account, v.lane, v.kind, v.request, v.batch, v.created_at, v.created_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(id, account, lane, kind, request, batch, created_at)",
    };
}

impl NewEvents {
    /// Adds an event if the request has a webhook.
    pub(crate) fn request_ended(&mut self, request: i64, status: RequestStatus, lane: Option<i64>, now: i64) {
        let kind = match status {
            RequestStatus::Completed => EventKind::RequestCompleted,
            RequestStatus::Failed => EventKind::RequestFailed,
            RequestStatus::Cancelled => EventKind::RequestCancelled,
            RequestStatus::Registered | RequestStatus::InProgress => return,
        };
        self.push(EventSubject::Request(request), kind, lane, now);
    }

    /// A batch completed, or its cancel is done.
    pub(crate) fn batch_ended(&mut self, batch: i64, kind: EventKind, lane: Option<i64>, now: i64) {
        self.push(EventSubject::Batch(batch), kind, lane, now);
    }

    fn push(&mut self, subject: EventSubject, kind: EventKind, lane: Option<i64>, now: i64) {
        if let Some(lane) = lane.map(DeliveryLane) {
            self.0.push(NewEvent { subject, kind, lane, now });
        }
    }

    /// Returns the number of events written.
    pub(crate) async fn write(
        &mut self,
        context: &EventContext,
        tx: &mut Tx<'_>,
    ) -> Result<usize, StoreError> {
        let events = std::mem::take(&mut self.0);
        let values = events.iter().flat_map(|event| event.values(context)).collect();
        tx.execute(INSERT.over([], values)).await?;
        Ok(events.len())
    }
}

impl NewEvent {
    fn values(&self, context: &EventContext) -> [Value; 7] {
        let (request, batch) = match self.subject {
            EventSubject::Request(seq) => (Some(seq), None),
            EventSubject::Batch(seq) => (None, Some(seq)),
        };
        [
            self.id(context).into(),
            self.lane.account().into(),
            self.lane.0.into(),
            kind_code(self.kind).into(),
            request.into(),
            batch.into(),
            self.now.into(),
        ]
    }

    /// An end has one identifier, whichever node computes it.
    fn id(&self, context: &EventContext) -> EventId {
        let (name, seq) = match self.subject {
            EventSubject::Request(seq) => ("request", seq),
            EventSubject::Batch(seq) => ("batch", seq),
        };
        let digest = Sha256::new()
            .chain_update(b"event of ")
            .chain_update(name)
            .chain_update(seq.to_le_bytes())
            .chain_update(context.secret)
            .finalize();
        EventId::derived(self.now, low_half(&digest))
    }
}

/// The first 16 bytes, as a number.
pub(crate) fn low_half(digest: &[u8]) -> u128 {
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    u128::from_le_bytes(half)
}
