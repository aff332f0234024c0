//! The write-ahead log is emptied, so that it holds nothing that was deleted.

use crate::tests::prelude::*;

#[tokio::test]
async fn the_log_is_emptied_once_no_reader_needs_it() {
    let mut fixture = Fixture::on_sqlite().await;
    fixture.insert(&[1]).await;
    let mut reader = fixture.store.database().connect_reader().await.expect("a connection");
    reader.begin_snapshot().await.expect("a snapshot");
    reader.fetch_one(sql("SELECT count(*) AS count FROM requests")).await.expect("a read");
    fixture.insert(&[2]).await;
    assert!(!fixture.store.truncate_log(START).await.expect("a try"));
    assert!(fixture.store.log_bytes() > Some(0));
    reader.execute_all("ROLLBACK").await.expect("an end");
    assert!(fixture.store.truncate_log(START).await.expect("another try"));
    assert_eq!(fixture.store.log_bytes(), Some(0));
}

#[tokio::test]
async fn the_age_of_the_log_counts_from_when_it_was_emptied_and_is_zero_while_it_is_empty() {
    let mut fixture = Fixture::on_sqlite().await;
    fixture.insert(&[1]).await;
    assert!(fixture.store.truncate_log(START).await.expect("a try"));
    assert_eq!(fixture.store.log_age_ms(START + 5_000), Some(0));
    fixture.insert(&[2]).await;
    assert_eq!(fixture.store.log_age_ms(START + 5_000), Some(5_000));
    assert_eq!(fixture.store.log_age_ms(START - 1), Some(0), "the clock was set back");
}

#[tokio::test]
async fn on_a_server_there_is_no_log_to_empty() {
    let fixture = Fixture::on_postgres().await;
    assert_eq!((fixture.store.log_bytes(), fixture.store.log_age_ms(START)), (None, None));
    assert!(fixture.store.truncate_log(START).await.expect("nothing to do"));
}
