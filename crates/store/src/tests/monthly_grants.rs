//! Credits that accounts are granted each calendar month.

use crate::ledger::monthly_grants::{self, Month, grant, list_due};
use crate::tests::prelude::*;

fn month(number: i64) -> Month {
    Month { number, name: format!("2026-{:02}", number % 12 + 1) }
}

fn credits(text: &str) -> Credits {
    text.parse().expect("credits")
}

impl Fixture {
    async fn set_monthly(&self, account: AccountKey, amount: Option<&str>) {
        let set = monthly_grants::set(&self.store, account, amount.map(credits), None, START, None).await;
        assert_eq!(set.expect("a change"), Guarded::Done(false));
        let set = accounts::get(&self.store, account).await.expect("an account");
        assert_eq!(set.monthly_credits, amount.map(credits));
    }

    async fn balance(&self, account: AccountKey) -> String {
        accounts::get(&self.store, account).await.expect("an account").balance.to_string()
    }

    /// For November 2026.
    async fn due_grants(&self) -> Vec<AccountKey> {
        let due = list_due(&self.store, &month(682)).await.expect("a list");
        due.into_iter().map(|(account, _)| account).collect()
    }

    async fn grant_of(&self, account: AccountKey, number: i64) -> Option<Posting> {
        grant(&self.store, account, month(number), START).await.expect("a grant")
    }
}

on_both!(an_account_is_granted_its_credits_once_a_month_also_after_a_restart);
async fn an_account_is_granted_its_credits_once_a_month_also_after_a_restart(fixture: &mut Fixture) {
    let account = fixture.account;
    assert_eq!(fixture.due_grants().await, []);
    assert_eq!(fixture.grant_of(account, 682).await, None, "it is to have none");
    fixture.set_monthly(account, Some("25")).await;
    assert_eq!(fixture.due_grants().await, [account]);
    assert_eq!(fixture.grant_of(account, 682).await, Some(Posting::Posted));
    assert_eq!(fixture.balance(account).await, "125");
    fixture.restart().await;
    assert_eq!(fixture.due_grants().await, []);
    for earlier in [682, 681] {
        assert_eq!(
            fixture.grant_of(account, earlier).await,
            None,
            "a clock that was set back grants nothing"
        );
    }
    assert_eq!(fixture.balance(account).await, "125");
}

on_both!(another_amount_holds_from_the_next_month_on_and_each_grant_is_an_entry_and_noted);
async fn another_amount_holds_from_the_next_month_on_and_each_grant_is_an_entry_and_noted(
    fixture: &mut Fixture,
) {
    let account = fixture.account;
    fixture.set_monthly(account, Some("25")).await;
    assert_eq!(fixture.grant_of(account, 682).await, Some(Posting::Posted));
    fixture.set_monthly(account, Some("5")).await;
    assert_eq!(fixture.grant_of(account, 682).await, None, "another amount holds from the next month on");
    assert_eq!(fixture.grant_of(account, 684).await, Some(Posting::Posted), "a month was left out");
    assert_eq!(fixture.balance(account).await, "130");
    let entries =
        ledger::list(&fixture.store, account, Some(EntryKind::Grant), None, 9).await.expect("a list").rows;
    let sources: Vec<_> =
        entries.iter().filter_map(|entry| entry.source.as_deref()?.split_once(' ')).collect();
    assert_eq!((sources[0].1, sources[1].1), ("monthly:2026-01", "monthly:2026-11"));
    fixture.set_monthly(account, None).await;
    assert_eq!(fixture.grant_of(account, 685).await, None);
    let noted = async |action| {
        let filter = Filter { account: Some(account), action: Some(action), since: 0, before: Place::END };
        audit_log::list(&fixture.store, &filter, 99).await.expect("the log").entries.len()
    };
    let noted = (noted(AuditAction::CreditsMonthly).await, noted(AuditAction::CreditsGrant).await);
    assert_eq!(noted, (3, 3), "the first grant is that of the account's beginning");
}

on_both!(the_month_in_which_credits_are_set_is_granted_with_the_setting);
async fn the_month_in_which_credits_are_set_is_granted_with_the_setting(fixture: &mut Fixture) {
    let (store, account) = (&fixture.store, fixture.account);
    let set = async |amount: Option<&str>, number| {
        let month = Some(month(number));
        let set = monthly_grants::set(store, account, amount.map(credits), month, START, None).await;
        let Guarded::Done(is_granted) = set.expect("a change") else { panic!("no key was used") };
        (is_granted, fixture.balance(account).await)
    };
    assert_eq!(set(Some("25"), 682).await, (true, "125".to_owned()));
    assert_eq!(set(Some("30"), 682).await, (false, "125".to_owned()), "one grant of a month");
    assert_eq!(set(None, 683).await, (false, "125".to_owned()));
    assert_eq!(fixture.due_grants().await, []);
    assert_eq!(set(Some("999999999"), 683).await, (false, "125".to_owned()), "more than a billion");
    let stored = accounts::get(store, account).await.expect("an account").monthly_credits;
    assert_eq!(stored, Some(credits("999999999")), "the amount is set all the same");
}

on_both!(nodes_that_grant_at_once_grant_once);
async fn nodes_that_grant_at_once_grant_once(fixture: &mut Fixture) {
    let account = fixture.account;
    fixture.set_monthly(account, Some("25")).await;
    let granting = (0..8).map(|_| grant(&fixture.store, account, month(682), START));
    let granted = join_all(granting).await;
    let posted = granted.iter().filter(|it| matches!(it, Ok(Some(Posting::Posted)))).count();
    assert_eq!((posted, fixture.balance(account).await.as_str()), (1, "125"), "{granted:?}");
}

on_both!(what_one_account_cannot_be_granted_keeps_nothing_from_another);
async fn what_one_account_cannot_be_granted_keeps_nothing_from_another(fixture: &mut Fixture) {
    let full = fixture.account;
    let honest = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account");
    let had = honest.balance;
    let amount = Credits::MAX.checked_sub(credits("100")).expect("an amount");
    let source = "to the brim".to_owned();
    let entry = NewEntry { account: full, kind: EntryKind::Grant, amount, source, now: START };
    assert_eq!(ledger::post(&fixture.store, &entry).await.expect("a posting"), Posting::Posted);
    for account in [full, honest.key] {
        fixture.set_monthly(account, Some("25")).await;
    }
    assert_eq!(fixture.grant_of(full, 682).await, Some(Posting::Refused));
    assert_eq!(fixture.grant_of(honest.key, 682).await, Some(Posting::Posted));
    let now = accounts::get(&fixture.store, honest.key).await.expect("an account").balance;
    assert_eq!(now.checked_sub(had), Some(credits("25")));
    assert_eq!(fixture.due_grants().await, [full], "it is tried again");
}

on_both!(a_suspended_account_is_granted_the_month_in_which_it_is_resumed);
async fn a_suspended_account_is_granted_the_month_in_which_it_is_resumed(fixture: &mut Fixture) {
    let account = fixture.account;
    let id = accounts::get(&fixture.store, account).await.expect("an account").id;
    fixture.set_monthly(account, Some("25")).await;
    accounts::set_suspended(&fixture.store, id, true, START).await.expect("a change");
    assert_eq!(fixture.due_grants().await, []);
    assert_eq!(fixture.grant_of(account, 682).await, None);
    accounts::set_suspended(&fixture.store, id, false, START).await.expect("a change");
    assert_eq!(fixture.grant_of(account, 682).await, Some(Posting::Posted));
    assert_eq!(fixture.balance(account).await, "125");
}
