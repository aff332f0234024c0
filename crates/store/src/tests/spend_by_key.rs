//! What is spent by each API key: a part of what is spent by day and model.

use crate::ledger::usage::{Names, Place, UsageRecord};
use crate::tests::audit_log::new_key;
use crate::tests::prelude::*;

pub(super) const BY_KEY: Grouping = Grouping { day: false, model: false, api_key: true };
pub(super) const ALL: Grouping = Grouping { day: true, model: true, api_key: true };

fn all_days() -> Days {
    Days { first: 0, last: day_of(START) + 100 }
}

/// Returns its row number.
pub(super) async fn key(fixture: &Fixture, number: u32) -> i64 {
    let key = new_key(number, START);
    assert!(api_keys::insert(&fixture.store, fixture.account, &key).await.expect("a key"));
    let holder = api_keys::find_holder(&fixture.store, &key.sha256).await.expect("a read");
    holder.expect("its holder").key
}

/// By a key, or none.
async fn send(fixture: &mut Fixture, number: u8, api_key: Option<i64>) {
    let request = NewRequest { hold: fixture.hold("20").await, api_key, ..fixture.request(number) };
    fixture.put(request).await;
}

async fn complete(fixture: &Fixture, now: i64) {
    for lease in fixture.release_and_lease().await {
        assert!(fixture.settle(&lease, now).await);
    }
}

pub(super) async fn list(fixture: &Fixture, grouping: Grouping) -> Vec<UsageRecord> {
    list_from(fixture, grouping, Place::BEGIN, 1_000).await
}

pub(super) async fn list_from(
    fixture: &Fixture,
    grouping: Grouping,
    after: Place,
    limit: u32,
) -> Vec<UsageRecord> {
    let listed = usage::list(&fixture.store, fixture.account, grouping, all_days(), after, limit).await;
    listed.expect("a read")
}

/// Day since [`START`], key and number of requests of each record.
pub(super) fn told(records: &[UsageRecord]) -> Vec<(i64, i64, i64)> {
    let day = |place: &Place| if place.day == 0 { 0 } else { place.day - day_of(START) };
    records.iter().map(|it| (day(&it.place), it.place.api_key, it.requests)).collect()
}

/// Five requests that completed: three by two keys and one by none on the first day, and one by the second key on the next. Those keys.
pub(super) async fn spent(fixture: &mut Fixture) -> (i64, i64) {
    let (a, b) = (key(fixture, 1).await, key(fixture, 2).await);
    for (number, by) in [(1, Some(a)), (2, Some(b)), (3, Some(a)), (4, None)] {
        send(fixture, number, by).await;
    }
    complete(fixture, START + 1).await;
    send(fixture, 5, Some(b)).await;
    complete(fixture, START + DAY_MS).await;
    fixture.assert_sound().await;
    (a, b)
}

on_both!(each_group_is_added_up_and_what_came_by_no_key_is_the_rest);
async fn each_group_is_added_up_and_what_came_by_no_key_is_the_rest(fixture: &mut Fixture) {
    let (a, b) = spent(fixture).await;
    let groups = list(fixture, ALL).await;
    assert_eq!(told(&groups), [(0, 0, 1), (0, a, 2), (0, b, 1), (1, b, 1)]);
    // 3 tokens read and 4 written, of 1 and 2 credits.
    let credits = |nanos: i64| Credits::from_nanos(nanos * 1_000_000_000);
    let twice = &groups[1];
    assert_eq!((twice.prompt_tokens, twice.completion_tokens, twice.amount), (6, 8, credits(22)));
    assert_eq!(twice.model.as_deref(), Some("tiny"));
    let named = twice.api_key.as_ref().expect("a key");
    assert_eq!((named.id, named.name.as_deref()), (new_key(1, START).id, Some("nightly")));
    assert_eq!(groups[0].api_key, None);
    assert_eq!(told(&list(fixture, BY_KEY).await), [(0, 0, 1), (0, a, 2), (0, b, 2)]);
    let days = Grouping { day: true, ..Grouping::default() };
    assert_eq!(told(&list(fixture, days).await), [(0, 0, 4), (1, 0, 1)]);
    let whole = list(fixture, Grouping::default()).await;
    assert_eq!((whole.len(), whole[0].requests, whole[0].amount), (1, 5, credits(55)));
    assert_eq!((&whole[0].model, &whole[0].api_key), (&None, &None));
    let dearest = usage::list_dearest_keys(&fixture.store, fixture.account, 0, 2).await.expect("a read");
    assert_eq!(told(&dearest), [(0, a, 2), (0, b, 2)]);
}

on_both!(groups_are_listed_page_by_page_and_of_some_days_alone);
async fn groups_are_listed_page_by_page_and_of_some_days_alone(fixture: &mut Fixture) {
    let (a, b) = spent(fixture).await;
    let days = Grouping { day: true, ..Grouping::default() };
    for grouping in [ALL, BY_KEY, days] {
        let (mut paged, mut after) = (Vec::new(), Place::BEGIN);
        while let Some(record) = list_from(fixture, grouping, after, 1).await.pop() {
            after = record.place;
            paged.push(record);
        }
        assert_eq!(paged, list(fixture, grouping).await);
    }
    let of_a_day = async |grouping, day| {
        let days = Days { first: day_of(START) + day, last: day_of(START) + day };
        let listed = usage::list(&fixture.store, fixture.account, grouping, days, Place::BEGIN, 9).await;
        told(&listed.expect("a read"))
    };
    for grouping in [ALL, BY_KEY] {
        let day = i64::from(grouping.day);
        assert_eq!(of_a_day(grouping, 1).await, [(day, b, 1)]);
        assert_eq!(of_a_day(grouping, 0).await, [(0, 0, 1), (0, a, 2), (0, b, 1)]);
    }
    for grouping in [Grouping { model: true, ..days }, days] {
        assert_eq!(
            (of_a_day(grouping, 0).await, of_a_day(grouping, 1).await),
            (vec![(0, 0, 4)], vec![(1, 0, 1)])
        );
    }
    assert_eq!(of_a_day(Grouping::default(), 1).await, [(0, 0, 1)]);
}

on_both!(keys_and_models_are_found_by_their_names_in_their_account_alone);
async fn keys_and_models_are_found_by_their_names_in_their_account_alone(fixture: &mut Fixture) {
    let row = key(fixture, 1).await;
    let other = fixture.other_account().await;
    let find = async |account, model: Option<&str>, api_key| {
        let names = Names { model: model.map(str::to_owned), api_key };
        usage::find_rows(&fixture.store, account, names).await.expect("a read")
    };
    let id = Some(new_key(1, START).id);
    assert_eq!(find(fixture.account, None, None).await, Some((0, 0)));
    assert_eq!(find(fixture.account, Some("tiny"), id).await, Some((fixture.model.0, row)));
    assert_eq!(find(fixture.account, Some("large"), id).await, None);
    assert_eq!(find(other, Some("tiny"), id).await, None, "it is the key of another account");
}

on_both!(rows_of_a_day_are_bounded_and_what_lies_beyond_counts_with_what_came_by_no_key);
async fn rows_of_a_day_are_bounded_and_what_lies_beyond_counts_with_what_came_by_no_key(
    fixture: &mut Fixture,
) {
    let (a, b) = (key(fixture, 1).await, key(fixture, 2).await);
    send(fixture, 1, Some(a)).await;
    complete(fixture, START).await;
    // As keys that were made and revoked would leave them, but for one.
    let (account, day) = (fixture.account.0, day_of(START));
    let fill = format!(
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS_OF_DAY_MAX})
        INSERT INTO spend_by_key SELECT {account}, {day}, 1, 1000 + i, 1, 0, 0, 0 FROM n"
    );
    let mut connection = fixture.store.connect().await.expect("a connection");
    connection.execute_all(fill.leak()).await.expect("rows");
    let count = "SELECT count(*) AS count FROM spend_by_key";
    let counted = async |connection: &mut Connection| {
        let rows = connection.fetch(sql(count)).await.expect("a count");
        rows[0].get::<i64>("count").expect("a number")
    };
    assert_eq!(counted(&mut connection).await, ROWS_OF_DAY_MAX);
    send(fixture, 2, Some(a)).await;
    send(fixture, 3, Some(b)).await;
    complete(fixture, START + 1).await;
    assert_eq!(counted(&mut connection).await, ROWS_OF_DAY_MAX, "there is no room for another");
    connection.execute_all("DELETE FROM spend_by_key WHERE api_key > 1000").await.expect("a statement");
    connection.close().await.expect("an end");
    assert_eq!(told(&list(fixture, BY_KEY).await), [(0, 0, 1), (0, a, 2)], "what has a row is counted on");
    fixture.assert_sound().await;
    // A day later there is room again.
    send(fixture, 4, Some(b)).await;
    complete(fixture, START + DAY_MS).await;
    assert_eq!(told(&list(fixture, BY_KEY).await), [(0, 0, 1), (0, a, 2), (0, b, 1)]);
}

on_both!(the_audit_finds_what_is_not_of_the_account_or_more_than_was_spent);
async fn the_audit_finds_what_is_not_of_the_account_or_more_than_was_spent(fixture: &mut Fixture) {
    let a = key(fixture, 1).await;
    send(fixture, 1, Some(a)).await;
    send(fixture, 2, None).await;
    complete(fixture, START).await;
    fixture.assert_sound().await;
    for (damage, repair) in [
        ("UPDATE spend_by_key SET requests = 3", "UPDATE spend_by_key SET requests = 1"),
        ("UPDATE spend_by_key SET amount = amount * 3", "UPDATE spend_by_key SET amount = amount / 3"),
        ("UPDATE spend_by_key SET requests = 2", "UPDATE spend_by_key SET requests = 1"),
        ("UPDATE spend_by_key SET day = day + 1", "UPDATE spend_by_key SET day = day - 1"),
        ("UPDATE spend_by_key SET api_key = api_key + 9", "UPDATE spend_by_key SET api_key = api_key - 9"),
        (
            "UPDATE request_states SET api_key = api_key + 9",
            "UPDATE request_states SET api_key = api_key - 9",
        ),
    ] {
        fixture.execute(damage).await;
        assert_eq!(fixture.breaches().await.len(), 1, "{damage}");
        fixture.execute(repair).await;
    }
}

on_both!(what_was_spent_by_key_goes_with_the_content_of_an_account);
async fn what_was_spent_by_key_goes_with_the_content_of_an_account(fixture: &mut Fixture) {
    let a = key(fixture, 1).await;
    send(fixture, 1, Some(a)).await;
    complete(fixture, START).await;
    closing::delete_content(&fixture.store, fixture.account).await.expect("a piece");
    assert_eq!(told(&list(fixture, BY_KEY).await), [(0, 0, 1)]);
}
