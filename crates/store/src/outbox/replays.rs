//! Replaying events: with the same identifier and bytes, and the whole schedule again.

use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Tx, statements};
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    Unknown,
    Sending,
    Due,
}

/// Events per transaction.
const REPLAYED_AT_ONCE: u32 = 256;

statements! {
    REPLAY = "UPDATE events SET state = 0 /* live */, failures = 0, tries_max = NULL, due_at = ?, ended_at = NULL
        WHERE id = ? AND node IS NULL";
    IS_THERE = "SELECT 1 FROM events WHERE id = ?";
    REPLAY_EXHAUSTED = "UPDATE events SET state = 0 /* live */, failures = 0, tries_max = NULL, due_at = ?, ended_at = NULL
        WHERE seq IN (SELECT seq FROM events WHERE account = ? AND state = 2 /* exhausted */ AND kind <> 5 /* webhook.test */
                      ORDER BY seq LIMIT ?)";
}

/// Makes an event due at `now`, whatever its state; in the turn of `account`, if an account asks.
pub async fn replay(
    store: &Store,
    account: Option<AccountKey>,
    id: EventId,
    now: i64,
) -> Result<Replay, StoreError> {
    let work = async move |tx: &mut Tx<'_>| {
        if tx.execute(REPLAY.bind(now).bind(id)).await? == 1 {
            return Ok(Replay::Due);
        }
        let found = tx.fetch(IS_THERE.bind(id)).await?;
        Ok(if found.is_empty() { Replay::Unknown } else { Replay::Sending })
    };
    match account {
        Some(account) => store.transaction_of(account, work).await,
        None => store.transaction(work).await,
    }
}

/// Makes an account's given-up events due, without tests; returns their number.
pub async fn replay_exhausted(store: &Store, account: AccountKey, now: i64) -> Result<u64, StoreError> {
    let mut replayed = 0;
    loop {
        let replay = REPLAY_EXHAUSTED.bind(now).bind(account).bind(REPLAYED_AT_ONCE);
        let some = store.transaction_of(account, async move |tx| tx.execute(replay).await).await?;
        replayed += some;
        if some < u64::from(REPLAYED_AT_ONCE) {
            return Ok(replayed);
        }
    }
}
