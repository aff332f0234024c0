//! Receiver tests: events about an account that are tried only once.

use bytes::Bytes;
use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::database::{Tx, statements};
use crate::idempotency_keys::{Guarded, Once};
use crate::outbox::account_events::{self, AccountEvent};
use crate::{Store, StoreError};

const TRIES_MAX: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTest {
    pub id: EventId,
    pub account: AccountKey,
    pub url: String,
    pub payload: Bytes,
    /// In milliseconds.
    pub now: i64,
}

statements! {
    LOCK_ACCOUNT = {
        sqlite: "SELECT seq FROM accounts WHERE seq = ?",
        postgres: "SELECT seq FROM accounts WHERE seq = ? FOR UPDATE",
    };
    LIVE_TEST = "SELECT 1 FROM events
        WHERE account = ? AND kind = 5 /* webhook.test */ AND state = 0 /* live */ LIMIT 1";
}

/// Makes a test due; `false` if the account has one due already.
pub async fn insert_test(store: &Store, test: NewTest) -> Result<bool, StoreError> {
    insert_test_once(store, test, None).await?.into_done()
}

/// As [`insert_test`], once for all calls with the same idempotency key.
pub async fn insert_test_once(
    store: &Store,
    test: NewTest,
    once: Option<Once>,
) -> Result<Guarded<bool>, StoreError> {
    let account = test.account;
    let insert = async move |tx: &mut Tx<'_>| {
        if let Some(once) = once
            && let Some(recalled) = once.take(test.account, test.now, tx).await?
        {
            return Ok(Guarded::Recalled(recalled));
        }
        insert_in(test, tx).await.map(Guarded::Done)
    };
    store.transaction_of(account, insert).await
}

async fn insert_in(test: NewTest, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    // One test of an account at a time.
    tx.fetch(LOCK_ACCOUNT.bind(test.account)).await?;
    if !tx.fetch(LIVE_TEST.bind(test.account)).await?.is_empty() {
        tx.undo();
        return Ok(false);
    }
    let NewTest { id, account, url, payload, now } = test;
    let kind = EventKind::WebhookTest;
    let event = AccountEvent { id, account, kind, url, payload, now, tries_max: Some(TRIES_MAX) };
    account_events::insert_in(event, tx).await?;
    Ok(true)
}
