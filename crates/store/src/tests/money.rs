//! Credits: held when a request is taken in, captured with its result, released otherwise; and what else moves a balance.

use std::panic::Location;

use metrics_exporter_prometheus::PrometheusBuilder;

use crate::ledger::Entry;
use crate::tests::prelude::*;
use crate::tests::transfer::order;

fn credits(text: &str) -> Credits {
    text.parse().expect("credits")
}

/// A request that holds `amount`, and its admission.
async fn insert(fixture: &mut Fixture, key: u8, amount: &str) -> (NewRequest, Admission) {
    let request = NewRequest { hold: fixture.hold(amount).await, ..fixture.request(key) };
    let admission = requests::insert(&fixture.store, request.clone()).await.expect("an insert");
    (request, admission)
}

/// Balance, held and available credits.
#[track_caller]
fn assert_account(fixture: &Fixture, expected: [&str; 3]) -> impl Future<Output = ()> {
    let place = Location::caller();
    async move {
        let account = accounts::get(&fixture.store, fixture.account).await.expect("an account");
        let amounts = [account.balance, account.held, account.available()].map(|amount| amount.to_string());
        assert_eq!(amounts, expected, "{place}");
    }
}

async fn entries(fixture: &Fixture) -> Vec<Entry> {
    ledger::list(&fixture.store, fixture.account, None, None, 1_000).await.expect("the ledger").rows
}

async fn post(store: &Store, fixture: &Fixture, kind: EntryKind, amount: &str, source: &str) -> Posting {
    let (account, amount, source) = (fixture.account, credits(amount), source.to_owned());
    ledger::post(store, &NewEntry { account, kind, amount, source, now: START }).await.expect("a posting")
}

async fn a_hold_is_captured_or_released_with_the_end_of_its_request(fixture: &mut Fixture) {
    let mut taken = Vec::new();
    for (key, amount) in [(1, "20"), (2, "30"), (3, "5.5"), (4, "1"), (5, "2")] {
        taken.push(insert(fixture, key, amount).await);
    }
    assert!(taken.iter().all(|(_, admission)| *admission == Admission::Taken));
    let late = &taken[4].0;
    assert_account(fixture, ["100", "58.5", "41.5"]).await;
    fixture.assert_sound().await;

    let leases = fixture.release_and_lease().await;
    // 3 tokens read and 4 written.
    assert!(fixture.settle(&leases[0], START + 2).await);
    assert_account(fixture, ["89", "38.5", "50.5"]).await;
    // A request that used more than it holds costs what it holds.
    let short = fixture.settlement(&leases[2], START + 2);
    assert!(settle::settle(&fixture.store, short).await.expect("a settle"));
    assert_account(fixture, ["83.5", "33", "50.5"]).await;
    let failed = Settlement { ending: Ending::Failed, ..fixture.settlement(&leases[3], START + 2) };
    assert!(settle::settle(&fixture.store, failed).await.expect("a settle"));
    assert_account(fixture, ["83.5", "32", "51.5"]).await;
    requests::cancel(&fixture.store, fixture.account, late.id, START + 3).await.expect("a cancel");
    assert_account(fixture, ["83.5", "30", "53.5"]).await;
    // A late answer to a request that was cancelled costs nothing.
    assert!(!fixture.settle(&leases[4], START + 4).await);
    expiry::expire(&fixture.store, START + DAY_MS, 10, b"{}".to_vec()).await.expect("an expiry");
    assert_account(fixture, ["83.5", "0", "83.5"]).await;

    assert_two_are_charged(fixture).await;
}
on_both!(a_hold_is_captured_or_released_with_the_end_of_its_request);

/// Only completed requests are charged.
async fn assert_two_are_charged(fixture: &Fixture) {
    let entries = entries(fixture).await;
    let told: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.amount.to_string())).collect();
    let charge = |amount: &str| (EntryKind::Charge, amount.to_owned());
    assert_eq!(told, [charge("-5.5"), charge("-11"), (EntryKind::Grant, "100".to_owned())]);
    assert_eq!(entries[1].model.as_deref(), Some("tiny"));
    assert!(fixture.status(entries[1].request.expect("a request")).await.as_str() == "completed");
    let spent = spend::list(&fixture.store, fixture.account, 0).await.expect("what was spent");
    let [day] = spent.as_slice() else { panic!("{spent:?}") };
    assert_eq!((day.requests, day.prompt_tokens, day.completion_tokens), (2, 6, 8));
    assert_eq!((day.day, day.amount), (day_of(START), credits("16.5")));
}

async fn of_two_racing_creates_with_credit_for_one_one_is_taken(fixture: &mut Fixture) {
    for round in 0..10 {
        let hold = fixture.hold("60").await;
        let both: Vec<_> = (0..2).map(|key| NewRequest { hold, ..fixture.request(key) }).collect();
        let ids: Vec<_> = both.iter().map(|request| request.id).collect();
        let store = fixture.store.clone();
        let answers = join_all(both.into_iter().map(|request| requests::insert(&store, request))).await;
        let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("an answer")).collect();
        let refused = Admission::InsufficientCredits { required: credits("60"), available: credits("40") };
        assert!(answers.contains(&Admission::Taken) && answers.contains(&refused), "{round}: {answers:?}");
        let taken = answers.iter().position(|answer| *answer == Admission::Taken).expect("one");
        let other = requests::find_summary(&store, fixture.account, ids[1 - taken]).await.expect("a read");
        assert!(other.is_none(), "what was refused is not stored");
        requests::cancel(&store, fixture.account, ids[taken], START).await.expect("a cancel");
    }
    assert_account(fixture, ["100", "0", "100"]).await;
}
on_both!(of_two_racing_creates_with_credit_for_one_one_is_taken);

#[tokio::test]
async fn nodes_that_race_for_the_last_credits_take_no_more_than_there_are() {
    let (mut fixture, other, _folder) = Fixture::with_node().await;
    let hold = fixture.hold("0.7").await;
    let all: Vec<_> = (0..240).map(|key| NewRequest { hold, ..fixture.request(key) }).collect();
    let stores = [fixture.store.clone(), other.clone()];
    let inserts = all.into_iter().enumerate().map(|(place, request)| {
        let store = stores[place % 2].clone();
        tokio::spawn(async move { requests::insert(&store, request).await.expect("an insert") })
    });
    let answers = join_all(inserts.collect::<Vec<_>>()).await;
    let taken = answers.into_iter().filter(|answer| *answer.as_ref().expect("a task") == Admission::Taken);
    assert_eq!(taken.count(), 142, "142 × 0.7 = 99.4");
    assert_account(&fixture, ["100", "99.4", "0.6"]).await;
    fixture.assert_sound().await;
    other.close().await;
}

async fn what_has_no_price_costs_nothing_and_holds_nothing(fixture: &mut Fixture) {
    post(&fixture.store, fixture, EntryKind::Refund, "-101", "re_1").await;
    fixture.insert(&[1]).await;
    assert!(fixture.settle(&fixture.release_and_lease().await[0], START + 1).await);
    assert_account(fixture, ["-1", "0", "-1"]).await;
    let spent = spend::list(&fixture.store, fixture.account, 0).await.expect("what was spent");
    assert_eq!((spent[0].requests, spent[0].amount), (1, Credits::ZERO));
}
on_both!(what_has_no_price_costs_nothing_and_holds_nothing);

async fn an_entry_is_posted_once_for_its_source(fixture: &mut Fixture) {
    let store = &fixture.store;
    assert_eq!(post(store, fixture, EntryKind::TopUp, "25", "pay_1").await, Posting::Posted);
    assert_eq!(post(store, fixture, EntryKind::TopUp, "25", "pay_1").await, Posting::PostedBefore);
    assert_eq!(post(store, fixture, EntryKind::Refund, "-10", "pay_1").await, Posting::Posted);
    let both = [(); 8].map(|()| post(store, fixture, EntryKind::TopUp, "1", "pay_2"));
    let posted = join_all(both).await.into_iter().filter(|posting| *posting == Posting::Posted);
    assert_eq!(posted.count(), 1);
    assert_account(fixture, ["116", "0", "116"]).await;
}
on_both!(an_entry_is_posted_once_for_its_source);

async fn a_second_payment_of_an_order_is_refused_and_a_repeat_of_the_first_has_no_effect(
    fixture: &mut Fixture,
) {
    let (first, second) = (order(fixture.account, 1), order(fixture.account, 2));
    for order in [&first, &second] {
        payments::insert(&fixture.store, order).await.expect("an order");
    }
    let post = async |order: &Payment, reference: &str| {
        payments::post(&fixture.store, order, reference, START).await.expect("a posting")
    };
    assert_eq!(post(&first, "pi_1").await, Posting::Posted);
    assert_eq!(post(&first, "pi_1").await, Posting::PostedBefore);
    assert_eq!(post(&first, "pi_2").await, Posting::Refused, "it was paid twice");
    assert_eq!(post(&second, "pi_1").await, Posting::Refused, "it pays one order");
    assert_eq!(post(&second, "pi_2").await, Posting::Posted);
}
on_both!(a_second_payment_of_an_order_is_refused_and_a_repeat_of_the_first_has_no_effect);

async fn the_amount_of_an_entry_is_found_by_its_kind_and_source(fixture: &mut Fixture) {
    post(&fixture.store, fixture, EntryKind::Grant, "7", "a gift").await;
    for (kind, source, amount) in [
        (EntryKind::Grant, "a gift", Some(credits("7"))),
        (EntryKind::Grant, "another", None),
        (EntryKind::TopUp, "a gift", None),
    ] {
        let found = ledger::find_amount(&fixture.store, kind, source).await.expect("a read");
        assert_eq!(found, amount, "{kind:?} {source}");
    }
}
on_both!(the_amount_of_an_entry_is_found_by_its_kind_and_source);

async fn what_was_taken_back_and_given_again_is_told_of_once_each_way(fixture: &mut Fixture) {
    insert(fixture, 1, "60").await;
    let (account, source) = (fixture.account, "dp_1".to_owned());
    let taken = NewEntry { account, kind: EntryKind::Dispute, amount: credits("-130"), source, now: START };
    let refused = NewEntry { kind: EntryKind::Grant, ..taken.clone() };
    let undo = async |taken: &NewEntry| {
        ledger::post_undone(&fixture.store, taken, "dp_1 won").await.expect("a posting")
    };
    assert_eq!(undo(&refused).await, Posting::Refused, "a grant takes nothing that is held");
    assert_eq!([undo(&taken).await, undo(&taken).await], [Posting::Posted, Posting::PostedBefore]);
    let told: Vec<_> =
        entries(fixture).await.iter().map(|entry| (entry.kind, entry.amount.to_string())).collect();
    let entry = |kind, amount: &str| (kind, amount.to_owned());
    let (given, taken) = (entry(EntryKind::Dispute, "130"), entry(EntryKind::Dispute, "-130"));
    assert_eq!(told, [given, taken, entry(EntryKind::Grant, "100")]);
    assert_account(fixture, ["100", "60", "40"]).await;
}
on_both!(what_was_taken_back_and_given_again_is_told_of_once_each_way);

async fn what_is_held_cannot_be_taken_back_but_by_the_one_who_paid(fixture: &mut Fixture) {
    insert(fixture, 1, "60").await;
    let store = fixture.store.clone();
    assert_eq!(post(&store, fixture, EntryKind::Grant, "-40.1", "a").await, Posting::Refused);
    assert_eq!(post(&store, fixture, EntryKind::Grant, "-40", "a").await, Posting::Posted);
    assert_eq!(post(&store, fixture, EntryKind::Grant, "1000000000", "b").await, Posting::Refused);
    assert_eq!(post(&store, fixture, EntryKind::Dispute, "-50", "d").await, Posting::Posted);
    assert_account(fixture, ["10", "60", "-50"]).await;
    // Not even what may cost nothing is taken in; what was is still done.
    let refused = Admission::InsufficientCredits { required: Credits::ZERO, available: credits("-50") };
    assert_eq!(insert(fixture, 2, "0").await.1, refused);
    assert!(fixture.settle(&fixture.release_and_lease().await[0], START + 2).await);
    assert_account(fixture, ["-1", "0", "-1"]).await;
}
on_both!(what_is_held_cannot_be_taken_back_but_by_the_one_who_paid);

#[tokio::test]
async fn what_a_group_releases_its_creates_may_hold() {
    let mut fixture = Fixture::on_sqlite().await;
    let (first, _) = insert(&mut fixture, 1, "90").await;
    let store = fixture.store.clone();
    let next = NewRequest { hold: fixture.hold("95").await, ..fixture.request(2) };
    // Both are in line before the writer, a task of this one thread, comes to see either.
    let cancel = requests::cancel(&store, fixture.account, first.id, START);
    let (cancelled, admitted) = tokio::join!(cancel, requests::insert(&store, next));
    cancelled.expect("a cancel");
    assert_eq!(admitted.expect("an insert"), Admission::Taken);
    assert_account(&fixture, ["100", "95", "5"]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn what_was_accepted_ended_and_charged_is_counted() {
    let recorder = PrometheusBuilder::new().build_recorder();
    // The writer is a task of this one thread.
    let _counted = metrics::set_default_local_recorder(&recorder);
    let mut fixture = Fixture::on_sqlite().await;
    let mut ids = Vec::new();
    for (key, amount) in [(1, "20"), (2, "5.5"), (3, "1"), (4, "1")] {
        ids.push(insert(&mut fixture, key, amount).await.0.id);
    }
    for lease in &fixture.release_and_lease().await[..2] {
        assert!(fixture.settle(lease, START + 2).await);
    }
    for id in &ids[2..] {
        requests::cancel(&fixture.store, fixture.account, *id, START + 3).await.expect("a cancel");
    }
    let page = recorder.handle().render();
    let mut counted: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("overnight_"))
        .filter(|line| ["requests_", "charged_", "shortfall_"].iter().any(|name| line.starts_with(name)))
        .collect();
    counted.sort_unstable();
    // 11 credits and the 5.5 that were held, which are as much too few; nothing of what never happened.
    let expected = [
        "charged_nanocredits_total 16500000000",
        "requests_accepted_total 4",
        "requests_ended_total{outcome=\"cancelled\"} 2",
        "requests_ended_total{outcome=\"completed\"} 2",
        "shortfall_nanocredits_total 5500000000",
    ];
    assert_eq!(counted, expected);
}

/// Damage, and words of the audit rule that must find it.
const DAMAGE: [(&str, &str); 12] = [
    ("UPDATE accounts SET balance = balance + 1", "balance is the sum"),
    ("UPDATE accounts SET held = held - 1", "what its live requests hold"),
    ("UPDATE request_states SET price = 99 WHERE state < 3", "only what has a price"),
    ("UPDATE ledger SET account = 9 WHERE kind = 2", "balance is the sum"),
    ("DELETE FROM ledger WHERE kind = 2", "charged once"),
    ("UPDATE ledger SET amount = amount - 1 WHERE kind = 2", "at the price that was accepted"),
    ("UPDATE ledger SET amount = -20000000000 WHERE kind = 2", "at the price that was accepted"),
    ("UPDATE spend SET amount = amount + 1", "by day and model"),
    ("UPDATE spend SET day = day + 1", "by day and model"),
    ("UPDATE activity SET completed = completed + 1", "quarters of an hour"),
    ("UPDATE activity SET amount = amount + 1", "quarters of an hour"),
    ("UPDATE accounts SET held = balance + 1", "less than nothing available"),
];

#[tokio::test]
async fn the_audit_sees_money_that_does_not_add_up() {
    for (damage, rule) in DAMAGE {
        let mut fixture = Fixture::on_sqlite().await;
        for key in [1, 2] {
            insert(&mut fixture, key, "20").await;
        }
        assert!(fixture.settle(&fixture.release_and_lease().await[0], START + 2).await);
        fixture.assert_sound().await;
        fixture.execute(damage).await;
        let broken = fixture.breaches().await;
        assert!(broken.iter().any(|broken| broken.rule.contains(rule)), "{damage}: {broken:?}");
    }
}

#[tokio::test]
async fn a_second_account_is_charged_for_its_own() {
    let mut fixture = Fixture::on_sqlite().await;
    let other = accounts::insert(&fixture.store, &new_account(8)).await.expect("an account");
    insert(&mut fixture, 1, "20").await;
    let theirs = NewRequest { account: other.key, hold: fixture.hold("30").await, ..fixture.request(2) };
    fixture.put(theirs).await;
    let other = accounts::get(&fixture.store, other.key).await.expect("an account");
    assert_eq!(other.held, credits("30"));
    assert_account(&fixture, ["100", "20", "80"]).await;
    fixture.assert_sound().await;
}
