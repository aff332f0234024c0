//! What becomes of writes while a PostgreSQL answers and does not do what it is asked.

use std::time::Duration;

use overnight_domain::requests::RequestStatus;
use overnight_testkit::postgres::Cluster;

use super::Fixture;
use crate::store::{Store, StoreError, requests};

const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

/// The name of the fixture's own database.
fn name_of(fixture: &Fixture) -> String {
    let url = fixture.options.server_url.as_deref().expect("a server");
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    place.rsplit('/').next().expect("a name").to_owned()
}

/// Writes until the store takes it.
async fn insert_when_possible(store: &Store, request: requests::NewRequest) {
    let taken = async {
        while requests::insert(store, request.clone()).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), taken).await.expect("the store takes writes again");
}

#[tokio::test]
async fn a_database_that_became_read_only_refuses_writes_until_it_takes_them_again() {
    let mut fixture = Fixture::on_postgres().await;
    let name = name_of(&fixture);
    fixture.insert(&[1]).await;
    let cluster = Cluster::shared();
    let set = |mode: &str| {
        let statement = format!("ALTER DATABASE \"{name}\" SET default_transaction_read_only = {mode}");
        cluster.execute("postgres", &statement).expect("a setting");
        cluster.execute(&name, END_SESSIONS).expect("no sessions");
    };
    set("on");
    let (lost, told) = (fixture.request(2), fixture.request(3));
    let _ = requests::insert(&fixture.store, lost).await;
    let refused = requests::insert(&fixture.store, told).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    assert!(fixture.store.refusing().is_some());
    assert!(fixture.store.outage().await.is_some());
    set("off");
    let request = fixture.request(4);
    insert_when_possible(&fixture.store, request.clone()).await;
    assert_eq!(fixture.status(request.id).await, RequestStatus::Registered);
    assert_eq!(fixture.store.outage().await, None);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_write_that_lacks_a_table_may_be_tried_again_and_the_others_are_done() {
    let mut fixture = Fixture::on_postgres().await;
    let name = name_of(&fixture);
    let rename = |from: &str, to: &str| {
        let statement = format!("ALTER TABLE {from} RENAME TO {to}");
        Cluster::shared().execute(&name, &statement).expect("a name");
    };
    rename("requests", "elsewhere");
    let request = fixture.request(1);
    let refused = requests::insert(&fixture.store, request.clone()).await.expect_err("no table");
    assert!(refused.outage().is_some_and(|why| why.contains("table")), "{refused}");
    assert_eq!(fixture.store.refusing(), None, "others are written");
    rename("elsewhere", "requests");
    requests::insert(&fixture.store, request).await.expect("a table");
    fixture.assert_sound().await;
}
