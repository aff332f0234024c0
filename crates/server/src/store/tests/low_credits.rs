//! Accounts that are told that their credits are low.

use bytes::Bytes;
use overnight_domain::audit_log::AuditAction;
use overnight_domain::ids::EventId;
use overnight_domain::money::{Credits, EntryKind};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use crate::store::audit_log::{self, Filter, Place};
use crate::store::database::sql;
use crate::store::idempotency_keys::Guarded;
use crate::store::identity::accounts::{self, LowCredits};
use crate::store::ledger::{self, NewEntry, Posting};
use crate::store::low_credits::{self, LowCreditsEvent, list_due};
use crate::store::operations::audit;
use crate::store::outbox::Payload;
use crate::store::requests::{self, NewRequest};
use crate::store::tests::webhooks::{HOOK, cancel};
use crate::store::tests::{Fixture, START, new_account};
use crate::store::{StoreError, closing};

const HOUR_MS: i64 = 3_600_000;

fn credits(text: &str) -> Credits {
    text.parse().expect("credits")
}

/// An event of `number`, made at a time in milliseconds: at most one an hour.
async fn notify(fixture: &Fixture, account: AccountKey, number: u128, now: i64) -> Result<bool, StoreError> {
    let event = LowCreditsEvent { id: EventId::from_bits(number), account, told_before: now - HOUR_MS, now };
    let write = |it: overnight_domain::webhooks::AccountCredits| {
        Bytes::from(format!("{} of {} below {}", it.available(), it.balance, it.threshold))
    };
    low_credits::notify(&fixture.store, event, write).await
}

impl Fixture {
    async fn set_low(&self, account: AccountKey, threshold: Option<&str>) {
        let webhook = || HOOK.to_owned();
        let wanted =
            threshold.map(|threshold| LowCredits { threshold: credits(threshold), webhook: webhook() });
        let set = low_credits::set(&self.store, account, wanted.clone(), START, None).await;
        assert_eq!(set.expect("a change"), Guarded::Done(()));
        assert_eq!(accounts::get(&self.store, account).await.expect("an account").low_credits, wanted);
    }

    /// Who is to be told at a time in milliseconds.
    async fn due_at(&self, now: i64) -> Vec<AccountKey> {
        list_due(&self.store, now - HOUR_MS).await.expect("a list")
    }

    async fn post(&self, kind: EntryKind, amount: &str, source: &str) {
        let (account, amount, source) = (self.account, credits(amount), source.to_owned());
        let entry = NewEntry { account, kind, amount, source, now: START };
        assert_eq!(ledger::post(&self.store, &entry).await.expect("a posting"), Posting::Posted);
    }

    /// Takes in a request that holds so much.
    async fn hold_of(&mut self, key: u8, amount: &str) -> NewRequest {
        let request = NewRequest { hold: self.hold(amount).await, ..self.request(key) };
        requests::insert(&self.store, request.clone()).await.expect("an insert");
        request
    }

    async fn notes_of(&self, action: AuditAction) -> usize {
        let filter =
            Filter { account: Some(self.account), action: Some(action), since: 0, before: Place::END };
        audit_log::list(&self.store, &filter, 99).await.expect("the log").entries.len()
    }
}

on_both!(an_account_is_told_once_until_as_much_is_available_again);
async fn an_account_is_told_once_until_as_much_is_available_again(mut fixture: Fixture) {
    let account = fixture.account;
    fixture.set_low(account, Some("60")).await;
    let held = fixture.hold_of(1, "40").await;
    assert_eq!(fixture.due_at(START).await, [], "60 are available, and not less");
    let more = fixture.hold_of(2, "0.5").await;
    assert_eq!(fixture.due_at(START).await, [account]);
    fixture.assert_sound().await;
    // Whoever was to make the event died.
    fixture.restart().await;
    assert!(notify(&fixture, account, 1, START).await.expect("an event"));
    assert!(!notify(&fixture, account, 2, START + 2 * HOUR_MS).await.expect("no event"), "it was told");
    let event = fixture.events().await.remove(0);
    assert_eq!((event.kind, event.subject), (EventKind::AccountLowCredits, None));
    let due = fixture.due(START).await.remove(0);
    let payload = Payload::Kept(Bytes::from_static(b"59.5 of 100 below 60"));
    assert_eq!((due.url.as_str(), due.payload, due.account), (HOOK, payload, account));
    fixture.hold_of(3, "1").await;
    assert_eq!(fixture.due_at(START + 2 * HOUR_MS).await, [], "it stays low");

    // What a cancel releases is available again.
    for request in [held, more] {
        cancel(&fixture, request.id, START).await;
    }
    fixture.assert_sound().await;
    fixture.hold_of(4, "45").await;
    assert_eq!(fixture.due_at(START + HOUR_MS - 1).await, [], "once in an hour");
    assert!(!notify(&fixture, account, 3, START + HOUR_MS - 1).await.expect("no event"));
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [account], "it is low still, and told late");
    assert!(notify(&fixture, account, 4, START + HOUR_MS).await.expect("an event"));
    assert_eq!(fixture.events().await.len(), 2);
    fixture.assert_sound().await;
}

on_both!(whatever_moves_credits_notes_that_they_are_low);
async fn whatever_moves_credits_notes_that_they_are_low(mut fixture: Fixture) {
    let account = fixture.account;
    let mut now = START;
    let mut low = async |fixture: &Fixture| {
        now += HOUR_MS;
        let is_low = fixture.due_at(now).await == [account];
        assert_eq!(notify(fixture, account, now.unsigned_abs().into(), now).await.expect("a try"), is_low);
        fixture.assert_sound().await;
        is_low
    };
    fixture.set_low(account, Some("90")).await;
    fixture.post(EntryKind::Grant, "-20", "taken back").await;
    assert!(low(&fixture).await, "a grant that is taken back");
    fixture.post(EntryKind::TopUp, "20", "pay_1").await;
    assert!(!low(&fixture).await);
    fixture.post(EntryKind::Refund, "-11", "re_1").await;
    assert!(low(&fixture).await, "a refund");
    fixture.post(EntryKind::Grant, "11", "monthly").await;
    assert!(!low(&fixture).await);
    fixture.hold_of(1, "10.5").await;
    assert!(low(&fixture).await, "a hold");
    settle_all(&fixture).await;
    assert!(!low(&fixture).await, "the whole hold was charged, so it stays low");
    fixture.post(EntryKind::Grant, "20", "more").await;
    fixture.hold_of(2, "25").await;
    assert!(low(&fixture).await, "another hold");
    settle_all(&fixture).await;
    fixture.hold_of(3, "9").await;
    assert!(low(&fixture).await, "a settle had released the rest of the hold");
}

/// Every request that waits completes, for 11 credits or what it held.
async fn settle_all(fixture: &Fixture) {
    fixture.release().await;
    for lease in fixture.lease().await {
        assert!(fixture.settle(&lease, START + 1).await);
    }
}

on_both!(nodes_that_notify_at_once_make_one_event);
async fn nodes_that_notify_at_once_make_one_event(fixture: Fixture) {
    fixture.set_low(fixture.account, Some("101")).await;
    let tries = (1..=8).map(|number| notify(&fixture, fixture.account, number, START));
    let made = futures_util::future::join_all(tries).await;
    assert_eq!(made.iter().filter(|made| matches!(made, Ok(true))).count(), 1, "{made:?}");
    assert_eq!(fixture.events().await.len(), 1);
    fixture.assert_sound().await;
}

on_both!(a_threshold_that_is_set_anew_is_told_anew_and_the_same_again_changes_nothing);
async fn a_threshold_that_is_set_anew_is_told_anew_and_the_same_again_changes_nothing(fixture: Fixture) {
    let account = fixture.account;
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account").key;
    for _ in 0..2 {
        fixture.set_low(account, Some("150")).await;
    }
    assert_eq!(fixture.notes_of(AuditAction::CreditsLow).await, 1);
    assert_eq!(fixture.due_at(START).await, [account]);
    assert!(notify(&fixture, account, 1, START).await.expect("an event"));
    fixture.set_low(account, Some("150")).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, []);
    fixture.set_low(account, Some("140")).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [account]);
    fixture.set_low(other, Some("150")).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [account, other], "each by itself");
    fixture.set_low(account, None).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [other]);
    assert_eq!(fixture.notes_of(AuditAction::CreditsLow).await, 3);
    closing::close(&fixture.store, other, START, None).await.expect("a closed account");
    assert_eq!(fixture.due_at(START + HOUR_MS).await, []);
    assert!(!notify(&fixture, other, 2, START + HOUR_MS).await.expect("no event"), "it is closed");
    fixture.assert_sound().await;
}

on_both!(the_audit_finds_credits_that_are_not_noted_as_low);
async fn the_audit_finds_credits_that_are_not_noted_as_low(fixture: Fixture) {
    fixture.set_low(fixture.account, Some("150")).await;
    fixture.assert_sound().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    for (damage, repair) in [
        ("UPDATE accounts SET low_credits_notified = NULL", "UPDATE accounts SET low_credits_notified = 1"),
        (
            "UPDATE accounts SET low_credits_threshold = 1",
            "UPDATE accounts SET low_credits_threshold = 150000000000",
        ),
        (
            "UPDATE accounts SET low_credits_webhook = NULL",
            "UPDATE accounts SET low_credits_webhook = 'https://a.example/'",
        ),
    ] {
        connection.execute(sql(damage)).await.expect("damage");
        let checks = audit::run(&fixture.store).await.expect("an audit");
        assert!(checks.iter().any(|check| check.breaches > 0), "{damage}");
        connection.execute(sql(repair)).await.expect("a repair");
        fixture.assert_sound().await;
    }
}
