//! What becomes of writes while a PostgreSQL answers and does not do what it is asked.

use crate::tests::prelude::*;

const END_SESSIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

fn name_of(fixture: &Fixture) -> String {
    let url = fixture.options.server_url.as_deref().expect("a server");
    let place = url.split_once('?').map_or(url, |(place, _)| place);
    place.rsplit('/').next().expect("a name").to_owned()
}

fn rename(database: &str, from: &str, to: &str) {
    let statement = format!("ALTER TABLE {from} RENAME TO {to}");
    Cluster::shared().execute(database, &statement).expect("a name");
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let becomes = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), becomes).await.expect("it becomes so");
}

async fn insert_when_possible(store: &Store, request: NewRequest) {
    until(async || requests::insert(store, request.clone()).await.is_ok()).await;
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
    until(async || fixture.store.refusing().is_some_and(|why| why.contains("read-only"))).await;
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
    rename(&name, "requests", "elsewhere");
    let request = fixture.request(1);
    let refused = requests::insert(&fixture.store, request.clone()).await.expect_err("no table");
    assert!(refused.outage().is_some_and(|why| why.contains("table")), "{refused}");
    assert_eq!(fixture.store.refusing(), None, "others are written");
    rename(&name, "elsewhere", "requests");
    requests::insert(&fixture.store, request).await.expect("a table");
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_write_that_lacks_a_table_as_all_others_do_refuses_them_until_it_is_there() {
    let mut fixture = Fixture::on_postgres().await;
    let name = name_of(&fixture);
    for table in ["requests", "settings"] {
        rename(&name, table, &format!("{table}_elsewhere"));
    }
    let request = fixture.request(1);
    let refused = requests::insert(&fixture.store, request.clone()).await.expect_err("no table");
    assert!(matches!(refused, StoreError::Unavailable(why) if why.contains("a table")), "{refused}");
    assert!(fixture.store.refusing().is_some());
    for table in ["requests", "settings"] {
        rename(&name, &format!("{table}_elsewhere"), table);
    }
    insert_when_possible(&fixture.store, request).await;
    assert_eq!(fixture.store.refusing(), None);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_read_that_lacks_a_table_is_an_outage_until_the_table_is_there() {
    let fixture = Fixture::on_postgres().await;
    let name = name_of(&fixture);
    rename(&name, "settings", "elsewhere");
    assert!(fixture.store.readers().fetch_all(sql("SELECT name FROM settings")).await.is_err());
    assert!(fixture.store.outage().await.is_some_and(|why| why.contains("a table")));
    rename(&name, "elsewhere", "settings");
    assert_eq!(fixture.store.outage().await, None);
    rename(&name, "settings", "elsewhere");
    assert_eq!(fixture.store.outage().await, None, "nothing has failed since");
    rename(&name, "elsewhere", "settings");
    fixture.assert_sound().await;
}
