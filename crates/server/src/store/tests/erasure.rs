//! What is counted as deleted, so that its bytes are looked for in the file.

use std::fs;

use crate::store::database::{Tx, sql};
use crate::store::erasure::{self, Deleted};
use crate::store::nodes;
use crate::store::requests::{Due, delete_ended};
use crate::store::tests::webhooks::cancel;
use crate::store::tests::{Fixture, START};

async fn deleted(fixture: &Fixture) -> Option<Deleted> {
    erasure::deleted(&fixture.store).await.expect("a look")
}

/// Deletes rows of a table, of which there are none.
async fn delete_nothing(fixture: &Fixture, text: &'static str) {
    let work = async move |tx: &mut Tx<'_>| tx.execute(sql(text)).await;
    assert_eq!(fixture.store.transaction(work).await.expect("a transaction"), 0);
}

#[tokio::test]
async fn each_commit_that_deletes_what_people_sent_is_counted_and_nothing_else() {
    let mut fixture = Fixture::on_sqlite().await;
    let mut before = deleted(&fixture).await.expect("a count");
    let ids = fixture.insert(&[1, 2]).await;
    fixture.release().await;
    fixture.lease().await;
    nodes::heartbeat(&fixture.store, START + 1).await.expect("a heartbeat");
    delete_nothing(&fixture, "DELETE FROM sessions WHERE created_at < 0").await;
    assert_eq!(deleted(&fixture).await, Some(before), "nothing was deleted but numbers");
    for id in ids {
        cancel(&fixture, id, START + 2).await;
        assert_eq!(deleted(&fixture).await, Some(before), "it has ended, and is there");
        let due = Due::all(fixture.account, START + 2);
        assert_eq!(delete_ended(&fixture.store, due).await.expect("a deletion"), 1);
        let after = deleted(&fixture).await.expect("a count");
        assert_ne!(after, before);
        assert_eq!(deleted(&fixture).await, Some(after), "once");
        before = after;
    }
    assert_eq!(fixture.store.erasure_waited_ms(START), Some(1));
    erasure::note_erased(&fixture.store, before, START);
    assert_eq!(fixture.store.erasure_waited_ms(START), Some(0));
}

#[tokio::test]
async fn the_log_is_emptied_once_no_reader_needs_it() {
    let mut fixture = Fixture::on_sqlite().await;
    let log = fixture.folder().join("overnight.db-wal");
    let length = || fs::metadata(&log).expect("the log").len();
    fixture.insert(&[1]).await;
    let mut reader = fixture.store.database().connect_reader().await.expect("a connection");
    reader.begin_snapshot().await.expect("a snapshot");
    reader.fetch_one(sql("SELECT count(*) AS count FROM requests")).await.expect("a read");
    fixture.insert(&[2]).await;
    assert!(!erasure::truncate_log(&fixture.store).await.expect("a try"));
    assert!(length() > 0);
    reader.execute_all("ROLLBACK").await.expect("an end");
    assert!(erasure::truncate_log(&fixture.store).await.expect("another try"));
    assert_eq!(length(), 0);
}

#[tokio::test]
async fn on_a_server_nothing_is_counted_and_nothing_swept() {
    let fixture = Fixture::on_postgres().await;
    assert_eq!(deleted(&fixture).await, None);
    assert_eq!(fixture.store.erasure_waited_ms(START), None);
    assert!(erasure::truncate_log(&fixture.store).await.expect("nothing to do"));
    assert!(erasure::Sweep::begin(&fixture.store).await.expect("nothing to do").is_none());
}
