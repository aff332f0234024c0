//! Telling accounts that their credits are low. What moves the credits of an account notes in the same statement whether less than its threshold is
//! available (`ledger/totals.rs`, `ledger/entries.rs`); what is noted is made an event here, once until as much is available again, and not more
//! often than the caller allows. A crash between the two only delays the event.

use bytes::Bytes;
use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::EventId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::{AccountCredits, EventKind};
use serde_json::json;
use url::Url;

use crate::store::audit_log::{self, Change};
use crate::store::database::{Row, Tx, statements};
use crate::store::idempotency_keys::{Guarded, Once, do_once};
use crate::store::identity::accounts::LowCredits;
use crate::store::ledger::totals;
use crate::store::outbox::account_events::{self, AccountEvent};
use crate::store::{Store, StoreError};

/// Accounts that one look finds at most; the others are found once these have been told.
const DUE_MAX: u32 = 256;

statements! {
    /// What is set anew is told anew. The same again changes nothing.
    SET = "UPDATE accounts SET low_credits_threshold = ?, low_credits_webhook = ?,
               low_credits_notified = CASE WHEN balance - held < ? THEN 0 /* to be told */ END
        WHERE seq = ? AND (low_credits_threshold IS DISTINCT FROM ? OR low_credits_webhook IS DISTINCT FROM ?)";
    LIST_DUE = "SELECT seq FROM accounts
        WHERE low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN ? AND ?)
        ORDER BY seq LIMIT ?";
    /// Who comes second finds it told.
    TAKE = "UPDATE accounts SET low_credits_notified = 1 /* told */, low_credits_notified_at = ?
        WHERE seq = ? AND low_credits_notified = 0 /* to be told */ AND closed_at IS NULL
          AND (low_credits_notified_at IS NULL OR low_credits_notified_at NOT BETWEEN ? AND ?)
        RETURNING id, balance, held, low_credits_threshold, low_credits_webhook";
}

/// Sets when and where an account is told that its credits are low; `None` for never. Where less is available already, it is told soon. The
/// same again changes nothing, and a closed account is refused. Once for all calls with the same idempotency key.
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
        // The rest of an address may hold a secret.
        let host = webhook.and_then(|url| Url::parse(&url).ok()?.host_str().map(str::to_owned));
        let change = Change::of_account(AuditAction::CreditsLow, account, now);
        let threshold = threshold.map(|threshold| threshold.to_string());
        audit_log::note_in(change.with(json!({"threshold": threshold, "host": host})), tx).await
    };
    do_once(store, account, once, now, set).await
}

/// Some accounts that are to be told that their credits are low, and were told last so many milliseconds before `now`, or never.
pub async fn list_due(store: &Store, now: i64, apart_ms: i64) -> Result<Vec<AccountKey>, StoreError> {
    let (first, last) = too_near(now, apart_ms);
    let rows = store.readers().fetch_all(LIST_DUE.bind(first).bind(last).bind(DUE_MAX)).await?;
    rows.iter().map(|row: &Row| row.get("seq")).collect()
}

/// The first and the last millisecond of the times of an earlier event that are too near to `now`. A time far ahead is that of a clock that was
/// wrong, and keeps nobody from being told.
const fn too_near(now: i64, apart_ms: i64) -> (i64, i64) {
    (now - apart_ms + 1, now + apart_ms)
}

#[derive(Debug, Clone, Copy)]
pub struct LowCreditsEvent {
    pub id: EventId,
    pub account: AccountKey,
    /// How many milliseconds two events of an account are apart at least.
    pub apart_ms: i64,
    /// When, in milliseconds.
    pub now: i64,
}

/// Makes the event that tells an account of its low credits, as they are by now; `write` makes what is sent. `false` where it is not to be told: it was
/// meanwhile, or as much is available again.
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
