//! Several rows of what is spent by API key, written at once.

use crate::ledger::spend::Spent;
use crate::ledger::spend_by_key;
use crate::ledger::spend_by_key::Key;
use crate::tests::prelude::*;
use crate::tests::spend_by_key::key;

/// Account, day since that of [`START`], model, key, requests, tokens read and written, and charge.
type Stored = (i64, i64, i64, i64, i64, i64, i64, i64);

async fn stored(fixture: &Fixture) -> Vec<Stored> {
    let all = "SELECT account, day, model, api_key, requests, prompt_tokens, completion_tokens, amount
        FROM spend_by_key ORDER BY account, day, model, api_key";
    let rows = fixture.store.readers().fetch_all(sql(all)).await.expect("a read");
    let number = |row: &Row, name| row.get::<i64>(name).expect("a number");
    rows.iter()
        .map(|row| {
            let day = number(row, "day") - day_of(START);
            let key = (number(row, "account"), day, number(row, "model"), number(row, "api_key"));
            let tokens = (number(row, "prompt_tokens"), number(row, "completion_tokens"));
            (key.0, key.1, key.2, key.3, number(row, "requests"), tokens.0, tokens.1, number(row, "amount"))
        })
        .collect()
}

fn spent(account: AccountKey, model: ModelKey, day: i64, api_key: i64) -> (Key, Spent) {
    let of = spend::Key::new(QueuePartition { model, account }, START + day * DAY_MS);
    (Key { of, api_key }, Spent { requests: 1, prompt_tokens: api_key, completion_tokens: 2, amount: 5 })
}

async fn add(fixture: &Fixture, rows: impl IntoIterator<Item = (Key, Spent)>) {
    let rows: BTreeMap<Key, Spent> = rows.into_iter().collect();
    let work = async move |tx: &mut Tx<'_>| spend_by_key::add(&rows, tx).await;
    fixture.store.transaction(work).await.expect("a write");
}

on_both!(rows_that_there_are_and_new_ones_of_several_accounts_days_and_models_are_written_at_once, no audit);
async fn rows_that_there_are_and_new_ones_of_several_accounts_days_and_models_are_written_at_once(
    fixture: &mut Fixture,
) {
    let other = fixture.other_account().await;
    let large = models::ensure(&fixture.store, &["tiny", "large"]).await.expect("models")[1];
    let (own, tiny) = (fixture.account, fixture.model);
    add(fixture, [spent(own, tiny, 0, 1)]).await;
    let rows = [
        spent(own, tiny, 0, 1),
        spent(own, tiny, 0, 2),
        spent(own, large, 0, 1),
        spent(own, tiny, 1, 1),
        spent(other, tiny, 0, 3),
    ];
    add(fixture, rows).await;
    let one = |account: AccountKey, day, model: ModelKey, api_key| {
        (account.0, day, model.0, api_key, 1, api_key, 2, 5)
    };
    let expected = [
        (own.0, 0, tiny.0, 1, 2, 2, 4, 10),
        one(own, 0, tiny, 2),
        one(own, 0, large, 1),
        one(own, 1, tiny, 1),
        one(other, 0, tiny, 3),
    ];
    assert_eq!(stored(fixture).await, expected);
}

on_both!(each_account_and_day_has_room_of_its_own_and_the_last_place_is_taken_once, no audit);
async fn each_account_and_day_has_room_of_its_own_and_the_last_place_is_taken_once(fixture: &mut Fixture) {
    let other = fixture.other_account().await;
    let (own, tiny) = (fixture.account, fixture.model);
    // All but one.
    let full = (1..ROWS_OF_DAY_MAX).map(|number| spent(own, tiny, 0, 1_000 + number));
    add(fixture, full).await;
    let known = spent(own, tiny, 0, 1_001);
    let new = |account, day| [spent(account, tiny, day, 1), spent(account, tiny, day, 2)];
    add(fixture, [vec![known], new(own, 0).into(), new(own, 1).into(), new(other, 0).into()].concat()).await;
    let rows = stored(fixture).await;
    let of = |account: AccountKey, day| {
        rows.iter().filter(move |row| (row.0, row.1) == (account.0, day)).map(|row| row.3).collect::<Vec<_>>()
    };
    assert_eq!(of(own, 0).len() as i64, ROWS_OF_DAY_MAX);
    assert_eq!(of(own, 0)[..2], [1, 1_001], "of two that are new one has a place");
    assert_eq!((of(own, 1), of(other, 0)), (vec![1, 2], vec![1, 2]));
    assert_eq!(rows.iter().filter(|row| row.4 == 2).map(|row| row.3).collect::<Vec<_>>(), [1_001]);
}

async fn send(fixture: &mut Fixture, number: u8, of: QueuePartition, api_key: i64) {
    let (hold, QueuePartition { model, account }) = (fixture.hold("20").await, of);
    let request = NewRequest { hold, account, model, api_key: Some(api_key), ..fixture.request(number) };
    fixture.put(request).await;
}

/// All that wait.
async fn lease(fixture: &mut Fixture, partitions: &[QueuePartition]) -> Vec<Lease> {
    fixture.release().await;
    let own = fixture.partition();
    let mut leases = Vec::new();
    for of in partitions {
        (fixture.account, fixture.model) = (of.account, of.model);
        leases.extend(fixture.lease().await);
    }
    (fixture.account, fixture.model) = (own.account, own.model);
    leases
}

on_both!(what_settles_together_counts_for_each_key_model_and_account);
async fn what_settles_together_counts_for_each_key_model_and_account(fixture: &mut Fixture) {
    let (a, b) = (key(fixture, 1).await, key(fixture, 2).await);
    let other = fixture.other_account().await;
    let own = fixture.account;
    fixture.account = other;
    let c = key(fixture, 3).await;
    fixture.account = own;
    let large = models::ensure(&fixture.store, &["tiny", "large"]).await.expect("models")[1];
    let tiny = fixture.partition();
    let partitions =
        [tiny, QueuePartition { model: large, ..tiny }, QueuePartition { account: other, ..tiny }];
    send(fixture, 1, tiny, a).await;
    for lease in lease(fixture, &partitions).await {
        assert!(fixture.settle(&lease, START).await);
    }
    // The first may be settled alone; it is a new row, and the others are of both kinds.
    let sent = [(tiny, b), (tiny, a), (partitions[1], a), (partitions[1], a), (partitions[2], c)];
    for (number, (of, api_key)) in (2..).zip(sent) {
        send(fixture, number, of, api_key).await;
    }
    let leases = lease(fixture, &partitions).await;
    assert_eq!(leases.len(), sent.len());
    let settles = leases.iter().map(|lease| settle::settle(&fixture.store, fixture.settlement(lease, START)));
    assert!(join_all(settles).await.into_iter().all(|settled| settled.expect("a settle")));
    let counted: Vec<_> = stored(fixture).await.iter().map(|row| (row.0, row.2, row.3, row.4)).collect();
    let model = fixture.model.0;
    let expected =
        [(own.0, model, a, 2), (own.0, model, b, 1), (own.0, large.0, a, 2), (other.0, model, c, 1)];
    assert_eq!(counted, expected);
}
