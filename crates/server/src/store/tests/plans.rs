//! Every statement on a hot path uses the index it was written for: a partial index is used only while its predicate
//! stands literally in the query, and nothing but this test would notice.

use sqlx::{AssertSqlSafe, Row};

use super::Fixture;
use crate::store::requests::{Direction, Scope};
use crate::store::sql::Connection;
use crate::store::{batches, expiry, leases, queue, releases, requests, settle};

const IN_QUEUE: &str = "SEARCH q USING PRIMARY KEY (model=? AND account=? AND sort_key=? AND seq=?)";

async fn check(fixture: &Fixture, text: &str, wanted: &[&str]) {
    let query = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {text}")));
    let Connection::Sqlite(mut connection) = fixture.store.connect().await.expect("a connection") else {
        unreachable!("the fixture is SQLite's")
    };
    let rows = query.fetch_all(&mut connection).await.expect("a plan");
    let plan: Vec<String> = rows.iter().map(|row| row.get::<String, _>(3)).collect();
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
        queue::LOOK,
        &["SEARCH queue USING PRIMARY KEY (model=? AND account=? AND (sort_key,seq)>(?,?))"],
    )
    .await;
    for text in [settle::HELD.text(256), leases::WAITING.text(256)] {
        check(&fixture, &text, &[IN_QUEUE]).await;
    }
    check(&fixture, &leases::TAKE.text(256), &[whole_key]).await;
    let text = settle::END.text(256);
    let (in_queue, behind) = text.split_once(';').expect("several statements");
    check(&fixture, in_queue, &[whole_key]).await;
    let in_progress = behind.split(';').next().expect("a second statement");
    check(&fixture, in_progress, &["SEARCH progress USING INTEGER PRIMARY KEY (rowid=?)"]).await;
    check(&fixture, leases::RETURN, &[whole_key]).await;
}

#[tokio::test]
async fn progress_is_found_by_seq_or_by_an_index() {
    let fixture = Fixture::on_sqlite().await;
    let gathering = "SEARCH progress USING INDEX progress_gathering";
    let covering = "SEARCH progress USING COVERING INDEX progress_gathering (ready_at<?)";
    check(&fixture, releases::BOUNDARY, &[covering]).await;
    check(&fixture, releases::COUNT, &[gathering]).await;
    check(&fixture, releases::FILL, &[gathering]).await;
    check(&fixture, releases::MARK, &[gathering]).await;
    let due = "USING INDEX progress_by_deadline (deadline>? AND deadline<?)";
    check(&fixture, expiry::OVERDUE, &[&format!("SEARCH p {due}"), IN_QUEUE]).await;
    check(&fixture, expiry::IS_OVERDUE, &[&format!("SEARCH progress {due}")]).await;
    check(
        &fixture,
        batches::LIVE_OF_BATCH,
        &["SEARCH p USING INDEX progress_by_batch (batch=? AND seq>?)", IN_QUEUE],
    )
    .await;
}

#[tokio::test]
async fn a_batch_is_grouped_in_time_that_grows_with_its_size_alone() {
    let fixture = Fixture::on_sqlite().await;
    check(
        &fixture,
        &batches::RESOLVE.text(256),
        &["SEARCH r USING INDEX", "SEARCH p USING INTEGER PRIMARY KEY"],
    )
    .await;
    check(&fixture, batches::FREE.0, &["SCAN j", "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)", IN_QUEUE])
        .await;
    check(&fixture, batches::JOIN.0, &["SEARCH progress USING INTEGER PRIMARY KEY (rowid=?)"]).await;
}

#[tokio::test]
async fn pages_start_at_their_cursor() {
    let fixture = Fixture::on_sqlite().await;
    for (scope, index) in [
        (Scope::Account(fixture.account), "progress_by_account (account=?"),
        (Scope::Batch(1), "progress_by_batch (batch=?"),
    ] {
        for (direction, bound) in [(Direction::OldestFirst, "seq>?"), (Direction::NewestFirst, "seq<?")] {
            let step = format!("SEARCH p USING INDEX {index} AND {bound})");
            for text in requests::page_texts(scope, direction) {
                check(&fixture, text, &[&step, "SEARCH r USING INTEGER PRIMARY KEY", IN_QUEUE]).await;
            }
        }
    }
}
