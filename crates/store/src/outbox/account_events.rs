//! Events about an account, not a request or batch, with their whole payload from the beginning.

use bytes::Bytes;
use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::StoreError;
use crate::database::{Tx, statements};
use crate::event_states::kind_code;
use crate::outbox::lanes::lane_of;

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
pub(crate) struct AccountEvent {
    pub(crate) id: EventId,
    pub(crate) account: AccountKey,
    pub(crate) kind: EventKind,
    pub(crate) url: String,
    pub(crate) payload: Bytes,
    /// In milliseconds.
    pub(crate) now: i64,
    /// Failed tries before it is given up; `None` for the schedule's.
    pub(crate) tries_max: Option<u32>,
}

/// In the transaction of its cause.
pub(crate) async fn insert_in(event: AccountEvent, tx: &mut Tx<'_>) -> Result<(), StoreError> {
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
