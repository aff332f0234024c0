//! Tests of receivers: events of no request or batch, which stand in the outbox with all that is sent, and are told as any
//! other, but only once.

use overnight_domain::ids::EventId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use super::lanes::lane_of;
use super::states::kind_code;
use crate::store::database::{Tx, sql};
use crate::store::{Store, StoreError};

/// More failures than any schedule has tries: the first one gives it up.
const FAILURES: i64 = 1 << 20;

/// A test to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTest {
    /// Its identifier.
    pub id: EventId,
    /// Who tests.
    pub account: AccountKey,
    /// Where it leads.
    pub url: String,
    /// What is sent.
    pub payload: Vec<u8>,
    /// When, in milliseconds.
    pub now: i64,
}

pub(in crate::store) const LIVE_TEST: &str =
    "SELECT 1 FROM events WHERE account = ? AND kind = 5 AND state = 0 LIMIT 1";

/// Makes a test due, unless one of its account is: whether it is due now.
pub async fn insert_test(store: &Store, test: &NewTest) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let inserted = insert_in(test, &mut tx).await;
    tx.conclude(inserted, |is_inserted| *is_inserted).await
}

async fn insert_in(test: &NewTest, tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    // One test of an account at a time.
    tx.fetch(sql("SELECT seq FROM accounts WHERE seq = ?").bind(test.account.0).locking()).await?;
    if !tx.fetch(sql(LIVE_TEST).bind(test.account.0)).await?.is_empty() {
        return Ok(false);
    }
    let text = "INSERT INTO events (id, account, lane, kind, created_at, due_at, failures, url, payload)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let insert = sql(text)
        .bind(test.id.to_bytes())
        .bind(test.account.0)
        .bind(lane_of(test.account, Some(&test.url)))
        .bind(kind_code(EventKind::WebhookTest))
        .bind(test.now)
        .bind(test.now)
        .bind(FAILURES)
        .bind(test.url.as_str())
        .bind(test.payload.as_slice());
    tx.execute(insert).await?;
    Ok(true)
}
