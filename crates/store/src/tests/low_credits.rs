//! Accounts that are told that their credits are low.

use crate::low_credits::list_due;
use crate::tests::prelude::*;
use crate::tests::webhooks::{HOOK, cancel};

const HOUR_MS: i64 = 3_600_000;

fn credits(text: &str) -> Credits {
    text.parse().expect("credits")
}

/// Event `number`, made at `now`: at most one an hour.
async fn notify(fixture: &Fixture, account: AccountKey, number: u128, now: i64) -> Result<bool, StoreError> {
    let event = LowCreditsEvent { id: EventId::from_bits(number), account, apart_ms: HOUR_MS, now };
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

    async fn due_at(&self, now: i64) -> Vec<AccountKey> {
        list_due(&self.store, now, HOUR_MS).await.expect("a list")
    }

    async fn post(&self, kind: EntryKind, amount: &str, source: &str) {
        let (account, amount, source) = (self.account, credits(amount), source.to_owned());
        let entry = NewEntry { account, kind, amount, source, now: START };
        assert_eq!(ledger::post(&self.store, &entry).await.expect("a posting"), Posting::Posted);
    }

    /// A request that holds `amount`.
    async fn hold_of(&mut self, key: u8, amount: &str) -> NewRequest {
        let request = NewRequest { hold: self.hold(amount).await, ..self.request(key) };
        self.put(request.clone()).await;
        request
    }

    /// Makes the account's event if it is due at `now`.
    async fn is_told(&self, account: AccountKey, now: i64) -> bool {
        notify(self, account, self.events().await.len() as u128 + 1, now).await.expect("a try")
    }

    async fn notes_of(&self, action: AuditAction) -> usize {
        let filter =
            Filter { account: Some(self.account), action: Some(action), since: 0, before: Place::END };
        audit_log::list(&self.store, &filter, 99).await.expect("the log").entries.len()
    }
}

on_both!(an_account_is_told_once_until_as_much_is_available_again);
async fn an_account_is_told_once_until_as_much_is_available_again(fixture: &mut Fixture) {
    let account = fixture.account;
    fixture.set_low(account, Some("60")).await;
    fixture.hold_of(1, "40").await;
    assert_eq!(fixture.due_at(START).await, [], "60 are available, and not less");
    fixture.hold_of(2, "0.5").await;
    assert_eq!(fixture.due_at(START).await, [account]);
    fixture.assert_sound().await;
    // Whoever was to make the event died.
    fixture.restart().await;
    assert!(fixture.is_told(account, START).await);
    assert!(!fixture.is_told(account, START + 2 * HOUR_MS).await, "it was told");
    let event = fixture.events().await.remove(0);
    assert_eq!((event.kind, event.subject), (EventKind::AccountLowCredits, None));
    let due = fixture.due(START).await.remove(0);
    let payload = Payload::Kept(Bytes::from_static(b"59.5 of 100 below 60"));
    assert_eq!((due.url.as_str(), due.payload, due.account), (HOOK, payload, account));
    fixture.hold_of(3, "1").await;
    assert_eq!(fixture.due_at(START + 2 * HOUR_MS).await, [], "it stays low");
}

on_both!(an_account_is_told_once_an_hour_and_then_of_what_is_low_still);
async fn an_account_is_told_once_an_hour_and_then_of_what_is_low_still(fixture: &mut Fixture) {
    let account = fixture.account;
    fixture.set_low(account, Some("60")).await;
    let held = fixture.hold_of(1, "45").await;
    assert!(fixture.is_told(account, START).await);
    // What a cancel releases is available again.
    cancel(fixture, held.id, START).await;
    fixture.hold_of(2, "45").await;
    assert_eq!(fixture.due_at(START + HOUR_MS - 1).await, [], "once in an hour");
    assert!(!fixture.is_told(account, START + HOUR_MS - 1).await);
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [account], "it is low still, and told late");
    assert!(fixture.is_told(account, START + HOUR_MS).await);
    assert_eq!(fixture.events().await.len(), 2);
}

/// Makes the fixture account's event whenever due, an hour after the last look; returns whether it did.
struct Watch(i64);

impl Watch {
    async fn is_told(&mut self, fixture: &Fixture) -> bool {
        self.0 += HOUR_MS;
        let is_due = fixture.due_at(self.0).await == [fixture.account];
        assert_eq!(fixture.is_told(fixture.account, self.0).await, is_due);
        fixture.assert_sound().await;
        is_due
    }
}

on_both!(entries_that_take_credits_note_that_they_are_low_and_those_that_give_some_that_they_are_not);
async fn entries_that_take_credits_note_that_they_are_low_and_those_that_give_some_that_they_are_not(
    fixture: &mut Fixture,
) {
    let mut watch = Watch(START);
    fixture.set_low(fixture.account, Some("90")).await;
    for (number, (kind, amount, is_low)) in [
        (EntryKind::Grant, "-20", true),
        (EntryKind::TopUp, "20", false),
        (EntryKind::Refund, "-11", true),
        (EntryKind::Grant, "11", false),
        (EntryKind::Dispute, "-200", true),
        (EntryKind::Grant, "189.999", true),
        (EntryKind::Grant, "0.001", false),
        (EntryKind::Grant, "-0.001", true),
    ]
    .into_iter()
    .enumerate()
    {
        fixture.post(kind, amount, &format!("source {number}")).await;
        // It is told of what became low, and not of what stays so.
        let is_new = is_low && amount.starts_with('-');
        assert_eq!(watch.is_told(fixture).await, is_new, "{kind:?} {amount}");
    }
}

on_both!(holds_note_that_credits_are_low_and_settles_what_they_release);
async fn holds_note_that_credits_are_low_and_settles_what_they_release(fixture: &mut Fixture) {
    let mut watch = Watch(START);
    fixture.set_low(fixture.account, Some("90")).await;
    fixture.hold_of(1, "10.5").await;
    assert!(watch.is_told(fixture).await, "a hold");
    settle_all(fixture).await;
    assert!(!watch.is_told(fixture).await, "the whole hold was charged, so it stays low");
    fixture.post(EntryKind::Grant, "20", "more").await;
    fixture.hold_of(2, "25").await;
    assert!(watch.is_told(fixture).await, "another hold");
    settle_all(fixture).await;
    fixture.hold_of(3, "9").await;
    assert!(watch.is_told(fixture).await, "a settle had released the rest of the hold");
}

/// Completes every waiting request, for 11 credits or its hold.
async fn settle_all(fixture: &Fixture) {
    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, START + 1).await);
    }
}

on_both!(nodes_that_notify_at_once_make_one_event);
async fn nodes_that_notify_at_once_make_one_event(fixture: &mut Fixture) {
    fixture.set_low(fixture.account, Some("101")).await;
    let tries = (1..=8).map(|number| notify(fixture, fixture.account, number, START));
    let made = join_all(tries).await;
    assert_eq!(made.iter().filter(|made| matches!(made, Ok(true))).count(), 1, "{made:?}");
    assert_eq!(fixture.events().await.len(), 1);
}

on_both!(a_threshold_that_is_set_anew_is_told_anew_and_the_same_again_changes_nothing);
async fn a_threshold_that_is_set_anew_is_told_anew_and_the_same_again_changes_nothing(fixture: &mut Fixture) {
    let account = fixture.account;
    for _ in 0..2 {
        fixture.set_low(account, Some("150")).await;
    }
    assert_eq!(fixture.notes_of(AuditAction::CreditsLow).await, 1);
    assert!(fixture.is_told(account, START).await);
    fixture.set_low(account, Some("150")).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, []);
    fixture.set_low(account, Some("140")).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, [account]);
    fixture.set_low(account, None).await;
    assert_eq!(fixture.due_at(START + HOUR_MS).await, []);
    assert_eq!(fixture.notes_of(AuditAction::CreditsLow).await, 3);
}

on_both!(each_account_is_told_by_itself_and_none_that_is_closed);
async fn each_account_is_told_by_itself_and_none_that_is_closed(fixture: &mut Fixture) {
    let account = fixture.account;
    let other = fixture.other_account().await;
    fixture.set_low(account, Some("150")).await;
    assert_eq!(fixture.due_at(START).await, [account]);
    fixture.set_low(other, Some("150")).await;
    assert!(fixture.is_told(account, START).await);
    assert_eq!(fixture.due_at(START).await, [other]);
    closing::close(&fixture.store, other, START, None).await.expect("a closed account");
    assert_eq!(fixture.due_at(START).await, []);
    assert!(!fixture.is_told(other, START).await);
}

on_both!(the_audit_finds_credits_that_are_not_noted_as_low);
async fn the_audit_finds_credits_that_are_not_noted_as_low(fixture: &mut Fixture) {
    fixture.set_low(fixture.account, Some("150")).await;
    fixture
        .assert_found(&[
            (
                "UPDATE accounts SET low_credits_notified = NULL",
                "UPDATE accounts SET low_credits_notified = 1",
            ),
            (
                "UPDATE accounts SET low_credits_threshold = 1",
                "UPDATE accounts SET low_credits_threshold = 150000000000",
            ),
            (
                "UPDATE accounts SET low_credits_webhook = NULL",
                "UPDATE accounts SET low_credits_webhook = 'https://a.example/'",
            ),
        ])
        .await;
}
