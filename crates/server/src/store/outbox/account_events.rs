//! Events of no request or batch: they are about an account, and stand in the outbox with all that is sent from the beginning.

use bytes::Bytes;
use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::store::StoreError;
use crate::store::database::{Tx, statements};
use crate::store::event_states::kind_code;
use crate::store::outbox::lanes::lane_of;

statements! {
    INSERT = {
        sqlite: "INSERT INTO events (seq, id, account, lane, kind, created_at, due_at, tries_max, url, payload)
            VALUES (1 + max((SELECT coalesce(max(seq), 0) FROM events),
                            (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'events')),
                    ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        postgres: "INSERT INTO events (id, account, lane, kind, created_at, due_at, tries_max, url, payload)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) struct AccountEvent {
    pub(in crate::store) id: EventId,
    pub(in crate::store) account: AccountKey,
    pub(in crate::store) kind: EventKind,
    /// Where it leads.
    pub(in crate::store) url: String,
    pub(in crate::store) payload: Bytes,
    /// When, in milliseconds.
    pub(in crate::store) now: i64,
    /// After how many failed tries it is given up; `None` for as many as the schedule has.
    pub(in crate::store) tries_max: Option<u32>,
}

/// Makes it due, in the transaction of what it tells of.
pub(in crate::store) async fn insert_in(event: AccountEvent, tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let AccountEvent { id, account, kind, url, payload, now, tries_max } = event;
    let insert = INSERT
        .bind(id)
        .bind(account)
        .bind(lane_of(account, Some(&url)))
        .bind(kind_code(kind))
        .bind(now)
        .bind(now)
        .bind(tries_max.map(i64::from))
        .bind(url)
        .bind(payload);
    tx.execute(insert).await.map(drop)
}
