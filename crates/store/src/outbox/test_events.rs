//! Receiver tests: events about an account that are tried only once.

use bytes::Bytes;
use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::database::{Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::outbox::account_events::{self, AccountEvent};
use crate::outbox::deletion::delete_events;
use crate::{Store, StoreError};

const TRIES_MAX: u32 = 1;

/// The newest tests of an account, which no quota counts.
const TESTS_KEPT: u32 = 20;

/// Older tests per transaction.
const DELETED_MAX: u32 = 100;

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
    DELETE_OLD = "DELETE FROM events WHERE seq IN (
        SELECT seq FROM events WHERE account = ? AND kind = 5 /* webhook.test */ ORDER BY seq DESC LIMIT ? OFFSET ?) RETURNING seq";
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
    let (account, now) = (test.account, test.now);
    do_once(store, account, once, now, async move |tx: &mut Tx<'_>| insert_in(test, tx).await).await
}

async fn insert_in(test: NewTest, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    // One test of an account at a time.
    tx.fetch(LOCK_ACCOUNT.bind(test.account)).await?;
    if !tx.fetch(LIVE_TEST.bind(test.account)).await?.is_empty() {
        tx.undo();
        return Ok(false);
    }
    let NewTest { id, account, url, payload, now } = test;
    let old = tx.fetch(DELETE_OLD.bind(account).bind(DELETED_MAX).bind(TESTS_KEPT - 1)).await?;
    delete_events(&old, tx).await?;
    let kind = EventKind::WebhookTest;
    let event = AccountEvent { id, account, kind, url, payload, now, tries_max: Some(TRIES_MAX) };
    account_events::insert_in(event, tx).await?;
    Ok(true)
}
