//! Reads of what accounts used: their turns, keys that are gone, the keys of the console, and sums of everything.

use futures_util::future::{BoxFuture, Either, select, select_all};

use crate::ledger::spend::SpendSum;
use crate::ledger::usage::Place;
use crate::tests::audit_log::new_key;
use crate::tests::prelude::*;
use crate::tests::spend_by_key::{ALL, BY_KEY, key, list, list_from, spent, told};

async fn sum(fixture: &Fixture, account: AccountKey) -> Result<(), StoreError> {
    let days = Days { first: 0, last: day_of(START) };
    for grouping in [BY_KEY, Grouping::default()] {
        usage::list(&fixture.store, account, grouping, days, Place::BEGIN, 9).await?;
    }
    usage::list_dearest_keys(&fixture.store, account, 0, 9).await?;
    api_keys::list_spent(&fixture.store, account, 0, START).await.map(drop)
}

on_both!(an_account_adds_up_once_at_a_time_and_keeps_no_other_read_waiting);
async fn an_account_adds_up_once_at_a_time_and_keeps_no_other_read_waiting(fixture: &mut Fixture) {
    let own = fixture.account;
    let other = fixture.other_account().await;
    let turn = fixture.store.long_readers(own).sum_turn().await.expect("a turn");
    let waiting: [BoxFuture<'_, ()>; 4] = [
        Box::pin(async { drop(list(fixture, BY_KEY).await) }),
        Box::pin(async { drop(list(fixture, Grouping::default()).await) }),
        Box::pin(async { drop(usage::list_dearest_keys(&fixture.store, own, 0, 9).await) }),
        Box::pin(async { drop(api_keys::list_spent(&fixture.store, own, 0, START).await) }),
    ];
    let waiting = select_all(waiting);
    let others = Box::pin(async {
        for _ in 0..20 {
            sum(fixture, other).await.expect("sums of another account");
            api_keys::list(&fixture.store, own, START).await.expect("another read");
        }
    });
    let waiting = match select(waiting, others).await {
        Either::Left(_) => panic!("two sums of an account were read at once"),
        Either::Right(((), waiting)) => waiting,
    };
    drop(turn);
    waiting.await;
    sum(fixture, own).await.expect("sums");
}

on_both!(what_came_by_a_key_that_is_gone_counts_with_what_came_by_none, no audit);
async fn what_came_by_a_key_that_is_gone_counts_with_what_came_by_none(fixture: &mut Fixture) {
    let (a, b) = spent(fixture).await;
    fixture.execute(format!("DELETE FROM api_keys WHERE seq = {b}")).await;
    assert_eq!(told(&list(fixture, BY_KEY).await), [(0, 0, 3), (0, a, 2)]);
    let groups = list(fixture, ALL).await;
    assert_eq!(told(&groups), [(0, 0, 2), (0, a, 2), (1, 0, 1)]);
    let (mut paged, mut after) = (Vec::new(), Place::BEGIN);
    while let Some(record) = list_from(fixture, ALL, after, 1).await.pop() {
        assert!(paged.len() < groups.len(), "the pages have no end");
        after = record.place;
        paged.push(record);
    }
    assert_eq!(paged, groups);
    let dearest = usage::list_dearest_keys(&fixture.store, fixture.account, 0, 9).await.expect("a read");
    assert_eq!(told(&dearest), [(0, 0, 3), (0, a, 2)]);
    let listed = api_keys::list_spent(&fixture.store, fixture.account, 0, START).await.expect("a read");
    assert_eq!(listed, [(new_key(1, START).id, Credits::from_nanos(22_000_000_000))].into());
}

on_both!(the_keys_that_are_listed_have_what_they_spent_however_many_dearer_ones_there_were, no audit);
async fn the_keys_that_are_listed_have_what_they_spent_however_many_dearer_ones_there_were(
    fixture: &mut Fixture,
) {
    let (cheap, idle) = (key(fixture, 1).await, key(fixture, 2).await);
    let (account, day) = (fixture.account.0, day_of(START));
    let ended: Vec<NewApiKey> = (3..=api_keys::ENDED_LISTED_MAX + 3)
        .map(|number| NewApiKey { expires_at: Some(START), ..new_key(number, START) })
        .collect();
    for made in &ended {
        assert!(api_keys::insert(&fixture.store, fixture.account, made).await.expect("a key"));
    }
    let spend = format!(
        "INSERT INTO spend_by_key SELECT {account}, {day}, 1, seq, 1, 0, 0, seq FROM api_keys WHERE seq <> {idle};
        INSERT INTO spend_by_key SELECT {account}, {day} - 1, 1, seq, 1, 0, 0, seq FROM api_keys WHERE seq <> {idle};
        INSERT INTO spend_by_key SELECT {account}, {day} - 2, 1, seq, 1, 0, 0, seq FROM api_keys"
    );
    fixture.execute(spend).await;
    let listed = api_keys::list_spent(&fixture.store, fixture.account, day - 1, START).await;
    let listed = listed.expect("a read");
    let of = |id: KeyId| listed.get(&id).copied();
    assert_eq!(of(new_key(1, START).id), Some(Credits::from_nanos(2 * cheap)));
    assert_eq!(of(new_key(2, START).id), None, "nothing completed by it on these days");
    assert_eq!(of(ended[0].id), None, "it is not listed");
    assert!(of(ended[1].id).is_some());
    assert_eq!(listed.len(), 1 + api_keys::ENDED_LISTED_MAX as usize);
    let named = api_keys::list(&fixture.store, fixture.account, START).await.expect("a read");
    assert!(named.keys.iter().all(|key| key.id == new_key(2, START).id || listed.contains_key(&key.id)));
}

on_both!(all_that_an_account_ever_completed_is_one_sum);
async fn all_that_an_account_ever_completed_is_one_sum(fixture: &mut Fixture) {
    let today = day_of(START + DAY_MS);
    let sum =
        async |fixture: &Fixture, account| spend::sum(&fixture.store, account, today).await.expect("a sum");
    let nothing = SpendSum {
        requests: 0,
        prompt_tokens: 0,
        completion_tokens: 0,
        amount: Credits::ZERO,
        amount_of_day: Credits::ZERO,
    };
    assert_eq!(sum(fixture, fixture.account).await, nothing);
    spent(fixture).await;
    let credits = |nanos: i64| Credits::from_nanos(nanos * 1_000_000_000);
    let (amount, amount_of_day) = (credits(55), credits(11));
    let all = SpendSum { requests: 5, prompt_tokens: 15, completion_tokens: 20, amount, amount_of_day };
    assert_eq!(sum(fixture, fixture.account).await, all);
    let other = fixture.other_account().await;
    assert_eq!(sum(fixture, other).await, nothing);
}
