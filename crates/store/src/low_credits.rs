//! Notifying accounts of low credits. A statement that changes credits notes whether fewer than the threshold are available
//! (`ledger/totals.rs`, `ledger/entries.rs`). That note becomes an event here, once until enough credits are available again, and not more
//! often than the caller allows. A crash between the two only delays the event.

use bytes::Bytes;
use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::EventId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::{AccountCredits, EventKind};
use serde_json::json;
use url::Url;

use crate::audit_log::{self, Change};
use crate::database::{Row, Tx, statements};
use crate::idempotency_keys::{Guarded, Once, do_once};
use crate::identity::accounts::LowCredits;
use crate::ledger::totals;
use crate::outbox::account_events::{self, AccountEvent};
use crate::{Store, StoreError};

/// Accounts per look; later looks find the others.
const DUE_MAX: u32 = 256;

statements! {
    /// A changed setting notifies again. A repeat has no effect.
    SET = "UPDATE accounts SET low_credits_threshold = ?, low_credits_webhook = ?,
               low_credits_notified = CASE WHEN balance - held < ? THEN 0 /* to be told */ END
        WHERE seq = ? AND (low_credits_threshold IS DISTINCT FROM ? OR low_credits_webhook IS DISTINCT FROM ?)";
    LIST_DUE = "SELECT seq FROM accounts
        WHERE low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN ? AND ?)
        ORDER BY seq LIMIT ?";
    /// A second node finds it notified.
    TAKE = "UPDATE accounts SET low_credits_notified = 1 /* told */, low_credits_notified_at = ?
        WHERE seq = ? AND low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN ? AND ?)
        RETURNING id, balance, held, low_credits_threshold, low_credits_webhook";
}

/// Sets when and where an account is notified of low credits; `None` for never. If credits are low already, it is notified soon. A repeat
/// has no effect, and a closed account is refused. Once for all calls with the same idempotency key.
pub async fn set(
    store: &Store,
    account: AccountKey,
    low_credits: Option<LowCredits>,
    now: i64,
    once: Option<Once>,
) -> Result<Guarded<()>, StoreError> {
    let set = async move |tx: &mut Tx<'_>| {
        totals::lock_open(account, tx).await?;
        let threshold = low_credits.as_ref().map(|it| it.threshold);
        let webhook = low_credits.map(|it| it.webhook);
        let nanos = threshold.map(Credits::nanos);
        let set = SET.bind(nanos).bind(webhook.clone()).bind(nanos).bind(account).bind(nanos);
        if tx.execute(set.bind(webhook.clone())).await? == 0 {
            return Ok(());
        }
        // The rest of the URL may hold a secret.
        let host = webhook.and_then(|url| Url::parse(&url).ok()?.host_str().map(str::to_owned));
        let change = Change::of_account(AuditAction::CreditsLow, account, now);
        let threshold = threshold.map(|threshold| threshold.to_string());
        audit_log::note_in(change.with(json!({"threshold": threshold, "host": host})), tx).await
    };
    do_once(store, account, once, now, set).await
}

/// Some accounts to notify, whose last event is at least `apart_ms` before `now`.
pub async fn list_due(store: &Store, now: i64, apart_ms: i64) -> Result<Vec<AccountKey>, StoreError> {
    let (first, last) = too_near(now, apart_ms);
    let rows = store.readers().fetch_all(LIST_DUE.bind(first).bind(last).bind(DUE_MAX)).await?;
    rows.iter().map(|row: &Row| row.get("seq")).collect()
}

/// The range of times of an earlier event that is too near to `now`. A time far ahead is from a wrong clock and does not block events.
const fn too_near(now: i64, apart_ms: i64) -> (i64, i64) {
    (now - apart_ms + 1, now + apart_ms)
}

#[derive(Debug, Clone, Copy)]
pub struct LowCreditsEvent {
    pub id: EventId,
    pub account: AccountKey,
    /// Minimum interval between two events of an account.
    pub apart_ms: i64,
    /// In milliseconds.
    pub now: i64,
}

/// Makes an account's low-credits event; `write` makes its payload from the present credits. `false` if none is due: it was made meanwhile,
/// or enough credits are available again.
pub async fn notify(
    store: &Store,
    new: LowCreditsEvent,
    write: impl FnOnce(AccountCredits) -> Bytes + Send + 'static,
) -> Result<bool, StoreError> {
    let notifying = async move |tx: &mut Tx<'_>| {
        let LowCreditsEvent { id, account, apart_ms, now } = new;
        let (first, last) = too_near(now, apart_ms);
        let rows = tx.fetch(TAKE.bind(now).bind(account).bind(first).bind(last)).await?;
        let Some(row) = rows.first() else { return Ok(false) };
        let payload = write(AccountCredits {
            account: row.get("id")?,
            threshold: row.get("low_credits_threshold")?,
            balance: row.get("balance")?,
            held: row.get("held")?,
        });
        let (kind, url) = (EventKind::AccountLowCredits, row.get("low_credits_webhook")?);
        let event = AccountEvent { id, account, kind, url, payload, now, tries_max: None };
        account_events::insert_in(event, tx).await?;
        Ok(true)
    };
    store.transaction(notifying).await
}
