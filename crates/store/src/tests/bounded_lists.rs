//! Lists with a filter that few rows pass: a statement reads a bounded number of rows, and a page says where it ended.

use std::cell::RefCell;

use crate::lists::Question;
use crate::outbox::reads;
use crate::tests::prelude::*;
use crate::tests::transfer::order;

/// The row numbers of each page of a list, of two rows at most, for which so many are looked through; no statement looks at more
/// than 1,000 rows of the account.
async fn walk_bounded<F: Fn(i64, u32) -> Statement, S: Fn(i64, i64, usize) -> Statement>(
    fixture: &Fixture,
    table: &str,
    looked_max: u32,
    question: impl Fn(Option<i64>) -> Question<F, S>,
) -> Vec<Vec<i64>> {
    let ranges = RefCell::new(Vec::new());
    let (mut pages, mut before) = (Vec::new(), None);
    loop {
        let Question { direction, wanted, floor, rows, .. } = question(before);
        let rows = |behind, floor, limit| {
            ranges.borrow_mut().push((behind, floor));
            rows(behind, floor, limit)
        };
        let question = Question { direction, wanted, before, rows_max: 2, looked_max, floor, rows };
        let read = |row: &Row| row.get("seq");
        let page = lists::page(&fixture.store.long_readers(fixture.account), None, question, read).await;
        let page = page.expect("a page");
        before = page.rest();
        pages.push(page.rows);
        if before.is_none() {
            break;
        }
    }
    let count = format!("SELECT count(*) AS count FROM {table} WHERE account = ? AND seq < ? AND seq >= ?");
    let count = sql(count.leak()).bind(fixture.account);
    for (behind, floor) in ranges.into_inner() {
        let query = count.clone().bind(behind).bind(floor);
        let looked_at: i64 =
            fixture.store.readers().fetch_one(query).await.expect("a count").get("count").unwrap();
        assert!(looked_at <= 1_000, "{looked_at} rows from {floor} to {behind}");
    }
    pages
}

/// Puts in `rows` rows of the account, each followed by one of another account. The numbers of the `rare` ones, newest first.
async fn fill(fixture: &Fixture, table: &str, rows: i64, rare: &str, insert: &str) -> Vec<i64> {
    let other = fixture.other_account().await;
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ";
    let (own, rows) = (fixture.account.0, 2 * rows);
    let text = format!(
        "INSERT INTO {table} {insert} FROM ({numbers}{rows}) \
         SELECT i, CASE WHEN i % 2 = 1 THEN {own} ELSE {} END AS account FROM n) v ORDER BY i",
        other.0
    );
    let mut connection = fixture.store.connect().await.expect("a connection");
    connection.execute(sql(text.leak())).await.expect("rows");
    let text = format!("SELECT seq FROM {table} WHERE account = {own} AND {rare} ORDER BY seq DESC");
    let rows = connection.fetch(sql(text.leak())).await.expect("the rare ones");
    connection.close().await.expect("an end");
    rows.iter().map(|row| row.get("seq").expect("a number")).collect()
}

/// Charges, and a top-up where `is_rare` says so.
async fn fill_ledger(fixture: &Fixture, rows: i64, is_rare: &str) -> Vec<i64> {
    let kind = format!("CASE WHEN {is_rare} THEN 1 ELSE 2 END");
    let insert =
        format!("(account, kind, amount, created_at, result) SELECT v.account, {kind}, -1, {START}, v.i");
    fill(fixture, "ledger", rows, "kind = 1 /* top-up */", &insert).await
}

on_both!(a_rare_kind_of_entry_is_found_in_bounded_statements, no audit);
async fn a_rare_kind_of_entry_is_found_in_bounded_statements(fixture: &mut Fixture) {
    let rare = fill_ledger(fixture, 4_500, "v.i IN (1, 1001, 3001, 3003, 3005, 8999)").await;
    let top_ups = |before| entries::question(fixture.account, Some(EntryKind::TopUp), before, 2);
    let pages = walk_bounded(fixture, "ledger", 2_000, top_ups).await;
    // The first ends for want of time, the second because it is full, and the rest ends with the list.
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 2, 1]);
    assert_eq!((pages.concat(), rare.len()), (rare, 6));
    let all =
        walk_bounded(fixture, "ledger", 2_000, |before| entries::question(fixture.account, None, before, 2))
            .await;
    // With the grant that the account began with.
    assert_eq!(all.concat().len(), 4_501);
}

on_both!(a_page_of_the_ledger_ends_after_twenty_thousand_entries_and_says_where, no audit);
async fn a_page_of_the_ledger_ends_after_twenty_thousand_entries_and_says_where(fixture: &mut Fixture) {
    let rare = fill_ledger(fixture, 20_100, "v.i = 1").await;
    let list = async |before| {
        let listed = ledger::list(&fixture.store, fixture.account, Some(EntryKind::TopUp), before, 25).await;
        listed.expect("a page")
    };
    let first = list(None).await;
    assert!(first.rows.is_empty() && first.next.is_none());
    let behind = first.looked_through.expect("where it ended");
    let second = list(Some(behind)).await;
    assert_eq!(second.rows.iter().map(|entry| entry.seq).collect::<Vec<_>>(), rare);
    assert_eq!(second.rest(), None);
}

on_both!(events_in_a_rare_state_are_found_in_bounded_statements, no audit);
async fn events_in_a_rare_state_are_found_in_bounded_statements(fixture: &mut Fixture) {
    let id = match fixture.store.dialect() {
        Dialect::Sqlite => "CAST(printf('%016d', v.i) AS BLOB)",
        Dialect::Postgres => "decode(lpad(to_hex(v.i), 32, '0'), 'hex')",
    };
    let state = "CASE WHEN v.i IN (3, 2003, 5997, 5999) THEN 2 ELSE 1 END";
    let insert = format!(
        "(id, account, lane, kind, created_at, state, ended_at, url) \
         SELECT {id}, v.account, 0, 5, {START}, {state}, {START}, 'https://hooks.example/'"
    );
    let rare = fill(fixture, "events", 3_000, "state = 2 /* exhausted */", &insert).await;
    let state = Some(EventState::Exhausted);
    for account in [Some(fixture.account), None] {
        let filter = |before| EventFilter { account, state, before, limit: 2 };
        let pages = walk_bounded(fixture, "events", 2_000, |before| reads::question(filter(before))).await;
        assert_eq!((pages.concat(), rare.len()), (rare.clone(), 4), "{account:?}");
        let page = async |before| {
            let page = outbox::list(&fixture.store, filter(before)).await.expect("a page");
            let next = page.rest();
            (page.rows.into_iter().map(|event| event.id).collect::<Vec<_>>(), next)
        };
        let listed = walk(page).await.concat();
        let (unique, count) = (std::collections::HashSet::<_>::from_iter(&listed), listed.len());
        assert_eq!((unique.len(), count), (4, 4), "{account:?}");
    }
}

on_both!(orders_are_listed_page_by_page_without_those_that_nobody_could_pay);
async fn orders_are_listed_page_by_page_without_those_that_nobody_could_pay(fixture: &mut Fixture) {
    let mut payable = Vec::new();
    for number in 1..=7u8 {
        let payment = order(fixture.account, number.into());
        let id = payment.id;
        payments::insert(&fixture.store, &payment).await.expect("an order");
        if number % 3 != 0 {
            payment_checks::note_session(&fixture.store, fixture.account, id, "at the provider", START)
                .await
                .expect("a session");
            payable.insert(0, id);
        }
    }
    let page = async |before| {
        let page = payments::list(&fixture.store, fixture.account, before, 2).await.expect("a page");
        (page.rows.into_iter().map(|payment| payment.id).collect::<Vec<_>>(), page.next)
    };
    let listed = walk(page).await;
    let sizes: Vec<_> = listed.iter().map(Vec::len).collect();
    assert_eq!((sizes, listed.concat()), (vec![2, 2, 1], payable));
}
