//! Stored waits after a clock change: each moves with the clock and is never longer than its maximum. Deadlines, times of creation and all
//! that clients have seen stay.

use overnight_domain::requests::COMPLETION_WINDOW_MS;

use crate::database::{Tx, statements};
use crate::{Store, StoreError};

/// How the clock has changed, and maximum waits.
#[derive(Debug, Clone, Copy)]
pub struct ClockMove {
    /// The clock's time, in milliseconds.
    pub now: i64,
    /// How far it was set back, in milliseconds; 0 if unknown.
    pub back_ms: i64,
    /// Maximum time of gathering.
    pub gathering_ms_max: i64,
    /// Maximum wait of an event for its next try.
    pub event_ms_max: i64,
}

statements! {
    /// Times of the newest rows: requests and events.
    NEWEST = "SELECT max(at) AS at FROM (
            SELECT created_at AS at FROM requests WHERE seq = (SELECT max(seq) FROM requests)
            UNION ALL SELECT created_at FROM events WHERE seq = (SELECT max(seq) FROM events)) n";
    /// Bound in order: how far back, earliest time, latest time, and from when on.
    RETRIES = {
        sqlite: "UPDATE queue SET retry_at = min(max(retry_at - ?, ?), ?) WHERE retry_at > ?",
        postgres: "UPDATE queue SET retry_at = least(greatest(retry_at - ?, ?), ?) WHERE (model, account, sort_key, seq) IN (
            SELECT model, account, sort_key, seq FROM queue WHERE retry_at > ? FOR UPDATE SKIP LOCKED)",
    };
    GATHERING = {
        sqlite: "UPDATE request_states SET ready_at = min(max(ready_at - ?, ?), ?)
            WHERE state = 0 /* gathering */ AND ready_at > ?",
        postgres: "UPDATE request_states SET ready_at = least(greatest(ready_at - ?, ?), ?) WHERE seq IN (
            SELECT seq FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND ready_at > ? FOR UPDATE SKIP LOCKED)",
    };
    EVENTS = {
        sqlite: "UPDATE events SET due_at = min(max(due_at - ?, ?), ?) WHERE due_at IS NOT NULL AND due_at > ?",
        postgres: "UPDATE events SET due_at = least(greatest(due_at - ?, ?), ?) WHERE seq IN (
            SELECT seq FROM events WHERE due_at IS NOT NULL AND due_at > ? FOR UPDATE SKIP LOCKED)",
    };
}

/// When the newest row was stored, in milliseconds, by the clock at that time; `None` if there is none.
pub async fn newest_at(store: &Store) -> Result<Option<i64>, StoreError> {
    store.readers().fetch_one(NEWEST.unbound()).await?.get("at")
}

/// Moves every stored wait with the clock, and shortens waits beyond their maximum. Rows that another node is writing are skipped: they
/// no longer wait.
pub async fn follow(store: &Store, to: ClockMove) -> Result<(), StoreError> {
    let ClockMove { now, back_ms, gathering_ms_max, event_ms_max } = to;
    let follow = async move |tx: &mut Tx<'_>| {
        let waits =
            [(&GATHERING, gathering_ms_max), (&RETRIES, COMPLETION_WINDOW_MS), (&EVENTS, event_ms_max)];
        for (statement, ms_max) in waits {
            let moved = statement.bind(back_ms).bind(now).bind(now.saturating_add(ms_max)).bind(now);
            tx.execute(moved).await?;
        }
        Ok(())
    };
    store.transaction(follow).await
}
