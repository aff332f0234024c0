//! Events are written by those who end requests and batches.

use std::sync::Arc;

use overnight_domain::ids::EventId;
use overnight_domain::requests::RequestStatus;
use overnight_domain::webhooks::{DeliveryLane, EventKind};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::store::StoreError;
use crate::store::database::{Tx, Value, statements};
use crate::store::outbox::states::kind_code;

/// What names events and wakes who delivers them.
#[derive(Clone)]
pub(in crate::store) struct Announcer {
    /// The installation's secret: nobody can tell the identifier of an event beforehand.
    pub(in crate::store) secret: [u8; 32],
    /// Rung when events are durable.
    pub(in crate::store) bell: Arc<Notify>,
}

/// The events of a group of writes, written once behind the counters.
#[derive(Default)]
pub(in crate::store) struct Outbox(Vec<Announcement>);

struct Announcement {
    subject: Told,
    kind: EventKind,
    lane: DeliveryLane,
    now: i64,
}

#[derive(Clone, Copy)]
enum Told {
    Request(i64),
    Batch(i64),
}

statements! {
    INSERT over [Bytes, Integer, Integer, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO events (id, account, lane, kind, request, batch, created_at, due_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
        postgres: "INSERT INTO events (id, account, lane, kind, request, batch, created_at, due_at)
            SELECT v.id, v.account, v.lane, v.kind, v.request, v.batch, v.created_at, v.created_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
                AS v(id, account, lane, kind, request, batch, created_at)",
    };
}

impl Outbox {
    /// A request ended so, and is told of where somebody wants to know.
    pub(in crate::store) fn request_ended(
        &mut self,
        request: i64,
        status: RequestStatus,
        lane: Option<i64>,
        now: i64,
    ) {
        let kind = match status {
            RequestStatus::Completed => EventKind::RequestCompleted,
            RequestStatus::Failed => EventKind::RequestFailed,
            RequestStatus::Cancelled => EventKind::RequestCancelled,
            RequestStatus::Registered | RequestStatus::InProgress => return,
        };
        self.push(Told::Request(request), kind, lane, now);
    }

    /// A batch completed, or its cancel is done.
    pub(in crate::store) fn batch_ended(&mut self, batch: i64, kind: EventKind, lane: Option<i64>, now: i64) {
        self.push(Told::Batch(batch), kind, lane, now);
    }

    fn push(&mut self, subject: Told, kind: EventKind, lane: Option<i64>, now: i64) {
        if let Some(lane) = lane.map(DeliveryLane) {
            self.0.push(Announcement { subject, kind, lane, now });
        }
    }

    /// Writes what was announced; how much that was.
    pub(in crate::store) async fn write(
        &mut self,
        announcer: &Announcer,
        tx: &mut Tx<'_>,
    ) -> Result<usize, StoreError> {
        let announced = std::mem::take(&mut self.0);
        let values = announced.iter().flat_map(|event| event.values(announcer)).collect();
        tx.execute(INSERT.over([], values)).await?;
        Ok(announced.len())
    }
}

impl Announcement {
    fn values(&self, announcer: &Announcer) -> [Value; 7] {
        let (request, batch) = match self.subject {
            Told::Request(seq) => (Some(seq), None),
            Told::Batch(seq) => (None, Some(seq)),
        };
        [
            self.id(announcer).into(),
            self.lane.account().into(),
            self.lane.0.into(),
            kind_code(self.kind).into(),
            request.into(),
            batch.into(),
            self.now.into(),
        ]
    }

    /// A request or batch ends once: its end has one name, whoever asks.
    fn id(&self, announcer: &Announcer) -> EventId {
        let (name, seq) = match self.subject {
            Told::Request(seq) => ("request", seq),
            Told::Batch(seq) => ("batch", seq),
        };
        let digest = Sha256::new()
            .chain_update(b"event of ")
            .chain_update(name)
            .chain_update(seq.to_le_bytes())
            .chain_update(announcer.secret)
            .finalize();
        EventId::derived(self.now, low_half(&digest))
    }
}

/// The first 16 bytes as a number.
pub(super) fn low_half(digest: &[u8]) -> u128 {
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    u128::from_le_bytes(half)
}
