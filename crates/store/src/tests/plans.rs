//! Every statement on a hot path uses the index it was written for: a partial index is used only while its predicate
//! stands literally in the query, and nothing but this test would notice.

use crate::database::Value;
use crate::ledger::totals;
use crate::queue::queue_scan;
use crate::requests::{deletion, retention};
use crate::tests::audit_log;
use crate::tests::prelude::*;

const IN_QUEUE: &str = "SEARCH q USING PRIMARY KEY (model=? AND account=? AND sort_key=? AND seq=?)";

/// What each hot statement does on PostgreSQL, where its tables are still empty: as a writer it is told to walk by keys, and a
/// table that it reads the whole of shows.
async fn check_on_postgres(fixture: &Fixture, statement: Statement, wanted: &str) {
    let text = statement.text(Dialect::Postgres).into_owned();
    let mut connection = fixture.store.connect().await.expect("a connection");
    let mut tx = Tx::begin(&mut connection).await.expect("a transaction");
    let rows = tx.fetch(statement.explained()).await.expect("a plan");
    let plan: Vec<String> = rows.iter().map(|row| row.get("QUERY PLAN").expect("a line")).collect();
    tx.rollback().await.expect("an end");
    assert!(plan.iter().any(|line| line.contains(wanted)), "{text}\nwants {wanted}\n{plan:#?}");
    for table in "requests request_states queue results batches accounts price_points ledger events audit_log"
        .split(' ')
    {
        let whole = format!("Seq Scan on {table}");
        assert!(!plan.iter().any(|line| line.contains(&whole)), "{text}\n{plan:#?}");
    }
}

#[tokio::test]
async fn no_hot_statement_reads_a_whole_table_of_postgresql() {
    let mut fixture = Fixture::on_postgres().await;
    let (ids, leases) = fixture.leased(&[1, 2, 3]).await;
    let settlements: Vec<_> = leases.iter().map(|lease| fixture.settlement(lease, START)).collect();
    let positions: Vec<_> = leases.iter().map(|lease| lease.key.position.clone()).collect();
    let mut statements = vec![
        releases::RELEASE_ON_POSTGRES.bind(START).bind(9i64).bind(START),
        releases::NEXT_READY_AT.unbound(),
        queue_scan::scan_range(fixture.partition(), KeyRange::default(), 9, START),
        settle::end_on_postgres_by(&settlements.iter().collect::<Vec<_>>(), 1),
        expiry::OVERDUE.bind(0i64).bind(START).bind(9i64),
        expiry::IS_OVERDUE.bind(0i64).bind(START),
        batches::LIVE_OF_BATCH.bind(1i64).bind(0i64).bind(9i64),
        batches::RESOLVE.over([1i64.into()], vec![ids[0].into()]),
    ];
    for sql in [&batches::JOIN, &batches::JOIN_IN_QUEUE] {
        statements.push(sql.over([1i64.into(), 1i64.into()], vec![1i64.into(), 2i64.into()]));
    }
    statements.push(batches::LEAVE_QUEUE.over([1i64.into()], vec![1i64.into(), 2i64.into()]));
    statements.push(batches::LIST_LEFT.bind(START).bind(START).bind(9i64));
    let row = |columns: i64| (0..columns).map(Value::from).collect::<Vec<_>>();
    statements.push(totals::LOCK.over([], row(1)));
    statements.push(totals::APPLY.over([], row(5)));
    statements.push(entries::INSERT_CHARGES.over([], row(7)));
    statements.push(outbox::LIST_LANES.unbound());
    statements.push(outbox::LIVE_TEST.bind(1i64));
    statements.push(outbox::FIND_DUE.bind(1i64).bind(START).bind(9i64));
    let claims = vec![1i64.into(), 0i64.into(), "https://a.example".into(), b"{}".as_slice().into()];
    let by = || [1i64, START].map(Value::from);
    statements.push(outbox::TAKE.over(by(), claims));
    statements.push(outbox::RECORD.over([1i64.into()], row(6)));
    statements.push(outbox::ON_POSTGRES.bind(1i64).bind("interrupted"));
    statements.push(api_keys::NOTE.over([], row(2)));
    statements.push(counts::GATHERING_OF_ACCOUNT.bind(fixture.account));
    statements.push(retention::FIND_NEXT.bind(1i64).bind(0i64).bind(9i64).bind(START));
    statements.push(retention::MEASURE_NEXT.bind(1i64).bind(0i64).bind(9i64));
    for delete in [&outbox::deletion::DELETE_DELIVERIES, &deletion::DELETE_EVENTS, &deletion::DELETE_ATTEMPTS]
    {
        statements.push(delete.over([], row(1)));
    }
    statements.push(
        segments::RESTS.bind(1i64).bind(1i64).bind([0xFF].as_slice()).bind(START).bind(START).bind(9i64),
    );
    statements.extend(lists_for_people());
    statements.extend(audit_log::hot_statements());
    for statement in statements {
        check_on_postgres(&fixture, statement, "").await;
    }
    let by_whole_key = "(sort_key = unnest.unnest) AND (seq = unnest.unnest_1))";
    let lease = leases::LEASE.over([1, START, 1, 1].map(Value::from), leases::list(&positions));
    check_on_postgres(&fixture, lease, by_whole_key).await;
}

/// Lists that examine rows for a page.
fn lists_for_people() -> Vec<Statement> {
    let bound = |sql: &Sql, numbers: &[i64]| {
        let query = numbers.iter().fold(sql.unbound(), |query, number| query.bind(*number));
        lists::bind_search(Some(&Search::new("a=b")), query).bind(51i64)
    };
    let mut statements = vec![
        bound(&batches::LIST, &[1, 9, 0, 0, 3]),
        batches::FLOOR.bind(1i64).bind(9i64).bind(1_999i64),
        batches::COUNT_LIVE.bind(1i64).bind(100i64),
        batches::LIST_LIVE.bind(1i64).bind(5i64),
        batches::COST.bind(1i64),
        requests::FIND_CHARGE.bind([0; 16]).bind(1i64),
        requests::LIST_ERRORS.bind(1i64).bind(9i64).bind(9i64),
        requests::COUNT_BETWEEN.bind(1i64).bind(1i64).bind(9i64).bind(1i64),
        entries::LIST.bind(1i64).bind(9i64).bind(0i64).bind(0i64).bind(4i64).bind(51i64),
        outbox::OF_ACCOUNT.bind(1i64).bind(9i64).bind(0i64).bind(0i64).bind(4i64).bind(51i64),
        outbox::OF_ALL.bind(9i64).bind(0i64).bind(0i64).bind(4i64).bind(51i64),
        outbox::FLOOR_OF_ALL.bind(9i64).bind(999i64),
    ];
    for floor in [&entries::FLOOR, &payments::FLOOR, &outbox::FLOOR_OF_ACCOUNT] {
        statements.push(floor.bind(1i64).bind(9i64).bind(999i64));
    }
    for scope in [ListScope::Account(AccountKey(1)), ListScope::Batch(AccountKey(1), 1)] {
        let (list, floor) = requests::list_of(scope);
        statements.push(bound(list, &[1, 9, 0, 0, 5, 0, 5, 1, 1]));
        statements.push(floor.bind(1i64).bind(9i64).bind(19_999i64));
    }
    statements
}

async fn plan(fixture: &Fixture, text: &str) -> Vec<String> {
    let text: &'static str = format!("EXPLAIN QUERY PLAN {text}").leak();
    let mut connection = fixture.store.connect().await.expect("a connection");
    let rows = connection.fetch(sql(text)).await.expect("a plan");
    rows.iter().map(|row| row.get("detail").expect("a step")).collect()
}

async fn check(fixture: &Fixture, text: &str, wanted: &[&str]) {
    let plan = plan(fixture, text).await;
    for step in wanted {
        assert!(plan.iter().any(|line| line.starts_with(step)), "{text}\nwants {step}\nhas {plan:#?}");
    }
    let scans = plan.iter().filter(|line| line.starts_with("SCAN"));
    let lists = ["VALUES", "CONSTANT", "VIRTUAL TABLE", "(subquery"];
    let scans: Vec<_> = scans.filter(|line| !lists.iter().any(|list| line.contains(list))).collect();
    assert!(
        scans.iter().all(|line| ["SCAN v", "SCAN m"].contains(&line.as_str())),
        "{text}\nscans {plan:#?}"
    );
}

#[tokio::test]
async fn the_queue_is_searched_by_its_key() {
    let fixture = Fixture::on_sqlite().await;
    let whole_key = "SEARCH queue USING PRIMARY KEY (model=? AND account=? AND sort_key=? AND seq=?)";
    check(
        &fixture,
        queue_scan::SCAN.sqlite,
        &["SEARCH queue USING PRIMARY KEY (model=? AND account=? AND (sort_key,seq)>(?,?) AND (sort_key,seq)<(?,?))"],
    )
    .await;
    for text in [settle::HELD.sqlite, leases::WAITING.sqlite] {
        check(&fixture, text, &[IN_QUEUE]).await;
    }
    for bulk in [&leases::LEASE, &settle::LEAVE] {
        check(&fixture, bulk.sqlite, &[whole_key]).await;
    }
    check(&fixture, settle::END.sqlite, &["SEARCH request_states USING INTEGER PRIMARY KEY (rowid=?)"]).await;
    check(&fixture, leases::RETURN.sqlite, &[whole_key]).await;
}

#[tokio::test]
async fn what_is_counted_is_a_range_of_a_key() {
    let fixture = Fixture::on_sqlite().await;
    let part = "SEARCH queue USING PRIMARY KEY (model=? AND (account,sort_key,seq)>(?,?,?) AND (account,sort_key,seq)<(?,?,?))";
    for text in
        [counts::EDGE.sqlite, counts::COUNT.sqlite, deadlines::COUNT_DEADLINES.sqlite, place::COUNT.sqlite]
    {
        check(&fixture, text, &[part]).await;
    }
    let gathering =
        "SEARCH request_states USING COVERING INDEX request_states_gathering_by_account (account=?)";
    check(&fixture, counts::GATHERING_OF_ACCOUNT.sqlite, &[gathering]).await;
}

#[tokio::test]
async fn request_states_are_found_by_seq_or_by_an_index() {
    let fixture = Fixture::on_sqlite().await;
    let gathering = "SEARCH request_states USING INDEX request_states_gathering";
    let covering = "SEARCH request_states USING COVERING INDEX request_states_gathering (ready_at<?)";
    check(&fixture, releases::BOUNDARY.sqlite, &[covering]).await;
    check(&fixture, releases::COUNT.sqlite, &[gathering]).await;
    check(&fixture, releases::FILL.sqlite, &[gathering]).await;
    check(&fixture, releases::MARK.sqlite, &[gathering]).await;
    let due = "USING INDEX request_states_by_deadline (deadline>? AND deadline<?)";
    check(&fixture, expiry::OVERDUE.sqlite, &[&format!("SEARCH rs {due}"), IN_QUEUE]).await;
    check(&fixture, expiry::IS_OVERDUE.sqlite, &[&format!("SEARCH request_states {due}")]).await;
    let next = "SEARCH request_states USING INDEX request_states_by_deadline (deadline>?)";
    check(&fixture, expiry::NEXT_LIVE_DEADLINE.sqlite, &[next]).await;
    check(
        &fixture,
        batches::LIVE_OF_BATCH.sqlite,
        &["SEARCH rs USING INDEX request_states_by_batch (batch=? AND seq>?)", IN_QUEUE],
    )
    .await;
}

#[tokio::test]
async fn money_is_moved_by_keys() {
    let fixture = Fixture::on_sqlite().await;
    for text in [totals::LOCK.sqlite, totals::APPLY.sqlite] {
        check(&fixture, text, &["SEARCH accounts USING INTEGER PRIMARY KEY (rowid=?)"]).await;
    }
    let request = "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)";
    check(&fixture, entries::INSERT_CHARGES.sqlite, &[request]).await;
}

#[tokio::test]
async fn uses_of_keys_are_noted_by_row_numbers() {
    let fixture = Fixture::on_sqlite().await;
    let by_key = "SEARCH api_keys USING INTEGER PRIMARY KEY (rowid=?)";
    check(&fixture, api_keys::NOTE.sqlite, &[by_key]).await;
}

#[tokio::test]
async fn keys_that_work_are_found_without_those_that_do_not() {
    let fixture = Fixture::on_sqlite().await;
    let usable = "SEARCH api_keys USING INDEX api_keys_usable (account=? AND <expr>>?)";
    let newest = "SEARCH api_keys USING INDEX api_keys_by_account (account=?)";
    check(&fixture, api_keys::COUNT_USABLE.sqlite, &[usable]).await;
    let plan = plan(&fixture, api_keys::LIST.sqlite).await;
    for step in [usable, newest] {
        assert!(plan.iter().any(|line| line.starts_with(step)), "wants {step}\nhas {plan:#?}");
    }
}

#[tokio::test]
async fn what_is_due_is_found_however_much_is_not() {
    let fixture = Fixture::on_sqlite().await;
    let by_lane = "USING COVERING INDEX events_due (lane";
    check(
        &fixture,
        outbox::LIST_LANES.sqlite,
        &[&format!("SEARCH e {by_lane}>?)"), &format!("SEARCH e {by_lane}=? AND due_at>?)")],
    )
    .await;
    check(
        &fixture,
        outbox::FIND_DUE.sqlite,
        &["SEARCH e USING INDEX events_due (lane=? AND due_at>? AND due_at<?)"],
    )
    .await;
    let by_key = "SEARCH events USING INTEGER PRIMARY KEY (rowid=?)";
    check(&fixture, outbox::TAKE.sqlite, &[by_key]).await;
    check(&fixture, outbox::RECORD.sqlite, &[by_key]).await;
    check(&fixture, outbox::NOTE.sqlite, &["SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"]).await;
    check(&fixture, outbox::LIVE_TEST.sqlite, &["SEARCH events USING INDEX events_tests (account=?)"]).await;
    check(
        &fixture,
        outbox::OF_ACCOUNT.sqlite,
        &["SEARCH e USING INDEX events_by_account (account=? AND seq>? AND seq<?)"],
    )
    .await;
    check(
        &fixture,
        outbox::TRIES_OF_ACCOUNT.sqlite,
        &["SEARCH d USING INDEX deliveries_by_account (account=? AND (started_at,event,number)<(?,?,?))"],
    )
    .await;
    check(&fixture, outbox::RELEASE.sqlite, &["SEARCH events USING INDEX events_sending (node=?)"]).await;
}

#[tokio::test]
async fn a_batch_is_grouped_in_time_that_grows_with_its_size_alone() {
    let fixture = Fixture::on_sqlite().await;
    check(
        &fixture,
        batches::RESOLVE.sqlite,
        &["SEARCH r USING INDEX", "SEARCH rs USING INTEGER PRIMARY KEY"],
    )
    .await;
    check(
        &fixture,
        batches::JOIN_IN_QUEUE.sqlite,
        &[
            "SEARCH queue USING PRIMARY KEY (model=? AND account=? AND sort_key=? AND seq=?)",
            "SEARCH rs USING INTEGER PRIMARY KEY (rowid=?)",
        ],
    )
    .await;
    check(&fixture, batches::JOIN.sqlite, &["SEARCH request_states USING INTEGER PRIMARY KEY (rowid=?)"])
        .await;
}

#[tokio::test]
async fn pages_start_at_their_cursor() {
    let fixture = Fixture::on_sqlite().await;
    let account = |direction| PageScope::Account(fixture.account, direction);
    for (scope, index) in [
        (account(Direction::OldestFirst), "request_states_by_account (account=? AND seq>? AND seq<?)"),
        (account(Direction::NewestFirst), "request_states_by_account (account=? AND seq>? AND seq<?)"),
        (PageScope::Batch(AccountKey(1), 1), "request_states_by_batch (batch=? AND seq>? AND seq<?)"),
    ] {
        let step = format!("SEARCH rs USING INDEX {index}");
        for sql in [requests::summaries_of(scope), requests::records_of(scope)] {
            check(&fixture, sql.sqlite, &[&step, "SEARCH r USING INTEGER PRIMARY KEY", IN_QUEUE]).await;
        }
    }
    for (scope, index) in [
        (account(Direction::OldestFirst), "request_states_by_account (account=? AND seq>?)"),
        (account(Direction::NewestFirst), "request_states_by_account (account=? AND seq<?)"),
        (PageScope::Batch(AccountKey(1), 1), "request_states_by_batch (batch=? AND seq>?)"),
    ] {
        let step = format!("SEARCH request_states USING COVERING INDEX {index}");
        check(&fixture, requests::edge_of(scope).sqlite, &[&step]).await;
    }
}

#[tokio::test]
async fn lists_for_people_start_at_their_cursor_too() {
    let fixture = Fixture::on_sqlite().await;
    let joined = [
        "SEARCH r USING INTEGER PRIMARY KEY",
        "SEARCH m USING INTEGER PRIMARY KEY",
        "SEARCH t USING INTEGER PRIMARY KEY",
        "SEARCH l USING INDEX ledger_by_result (result=?)",
        IN_QUEUE,
    ];
    for (scope, index) in [
        (ListScope::Account(fixture.account), "request_states_by_account (account=?"),
        (ListScope::Batch(AccountKey(1), 1), "request_states_by_batch (batch=?"),
    ] {
        let behind = if matches!(scope, ListScope::Account(_)) { "seq<?" } else { "seq>?" };
        let first = format!("SEARCH rs USING INDEX {index} AND seq>? AND seq<?)");
        check(&fixture, requests::list_of(scope).0.sqlite, &[&[first.as_str()], &joined[..]].concat()).await;
        let floor = format!("SEARCH request_states USING COVERING INDEX {index} AND {behind})");
        check(&fixture, requests::list_of(scope).1.sqlite, &[&floor]).await;
    }
    let by_batch = "SEARCH rs USING INDEX request_states_by_batch (batch=?)";
    let in_batch = "SEARCH rs USING INDEX request_states_by_batch (batch=? AND seq>?)";
    check(&fixture, requests::LIST_ERRORS.sqlite, &[in_batch, joined[2]]).await;
    check(&fixture, requests::FIND_CHARGE.sqlite, &["SEARCH r USING COVERING INDEX", joined[2], joined[3]])
        .await;
    let by_account = "SEARCH batches USING INDEX batches_by_account (account=? AND seq>? AND seq<?)";
    check(&fixture, batches::LIST.sqlite, &[by_account]).await;
    let floor = "SEARCH batches USING COVERING INDEX batches_by_account (account=? AND seq<?)";
    check(&fixture, batches::FLOOR.sqlite, &[floor]).await;
    let live = "SEARCH batches USING INDEX batches_live (account=?)";
    check(&fixture, batches::COUNT_LIVE.sqlite, &[live]).await;
    check(&fixture, batches::LIST_LIVE.sqlite, &[live]).await;
    let unused = "SEARCH objects USING COVERING INDEX objects_unused_by_account (account=? AND state>?)";
    check(&fixture, objects::unused::SUM.sqlite, &[unused]).await;
    let between =
        "SEARCH request_states USING COVERING INDEX request_states_by_batch (batch=? AND seq>? AND seq<?)";
    check(&fixture, requests::COUNT_BETWEEN.sqlite, &[between]).await;
    check(&fixture, batches::COST.sqlite, &[by_batch, joined[3]]).await;
}

#[tokio::test]
async fn lists_of_money_and_events_read_what_lies_between_two_rows() {
    let fixture = Fixture::on_sqlite().await;
    let events = "SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)";
    for (sql, step) in [
        (&entries::LIST, "SEARCH l USING INDEX ledger_by_account (account=? AND seq>? AND seq<?)"),
        (&entries::FLOOR, "SEARCH ledger USING COVERING INDEX ledger_by_account (account=? AND seq<?)"),
        (&payments::LIST, "SEARCH payments USING INDEX payments_by_account (account=? AND seq>? AND seq<?)"),
        (&payments::FLOOR, "SEARCH payments USING COVERING INDEX payments_by_account (account=? AND seq<?)"),
        (&payment_checks::DUE, "SEARCH payments USING INDEX payments_to_check (check_at<?)"),
        (&payment_checks::ASKED_FOR, "SEARCH payments USING INDEX payments_to_check_by_account (account=?)"),
        (&outbox::OF_ALL, events),
        (&outbox::FLOOR_OF_ALL, "SEARCH events USING INTEGER PRIMARY KEY (rowid<?)"),
        (
            &outbox::FLOOR_OF_ACCOUNT,
            "SEARCH events USING COVERING INDEX events_by_account (account=? AND seq<?)",
        ),
    ] {
        check(&fixture, sql.sqlite, &[step]).await;
    }
}

#[tokio::test]
async fn the_audit_looks_at_each_row_once_and_finds_what_belongs_to_it_by_a_key() {
    let fixture = Fixture::on_sqlite().await;
    for (rule, _, breach) in audit::RULES {
        let plan = plan(&fixture, breach).await;
        let joins = plan.iter().filter(|line| line.contains("-JOIN"));
        let scans: Vec<_> = joins.filter(|line| line.starts_with("SCAN")).collect();
        assert!(scans.is_empty(), "{rule}: {plan:#?}");
    }
}
