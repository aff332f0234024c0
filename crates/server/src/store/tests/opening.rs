//! Opening the database.

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

use super::{Fixture, START, options};
use crate::clock::ManualClock;
use crate::store::{FolderLock, Store, StoreError};

#[tokio::test]
async fn a_second_server_is_refused_and_told_who_holds_the_folder() {
    let fixture = Fixture::new().await;
    let refused = Store::open(&options(&fixture.folder), ManualClock::at(START)).await.err();
    let Some(StoreError::Locked { pid, .. }) = refused else {
        panic!("a second server was let in: {refused:?}")
    };
    assert_eq!(pid, std::process::id().to_string());
    assert_eq!(FolderLock::holder(fixture.folder.path()), Some(pid));
    fixture.store.close().await;
    assert_eq!(FolderLock::holder(fixture.folder.path()), None);
}

#[tokio::test]
async fn a_database_from_the_future_is_refused_untouched() {
    let fixture = Fixture::new().await;
    fixture.store.close().await;
    let file = fixture.folder.path().join("overnight.db");
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.expect("a connection");
    sqlx::query("PRAGMA user_version = 99").execute(&mut connection).await.expect("a pragma");
    drop(connection);
    let refused = Store::open(&options(&fixture.folder), ManualClock::at(START)).await.err();
    assert!(matches!(refused, Some(StoreError::Newer { found: 99, .. })), "{refused:?}");
}

#[tokio::test]
async fn the_sort_key_secret_is_made_once() {
    let mut fixture = Fixture::new().await;
    let secret = *fixture.store.sort_key_secret();
    fixture.restart().await;
    assert_eq!(*fixture.store.sort_key_secret(), secret);
    assert_ne!(secret, [0; 32]);
}

#[tokio::test]
async fn operators_write_beside_a_running_server() {
    let fixture = Fixture::new().await;
    let beside = Store::open_beside(&options(&fixture.folder)).await.expect("a store beside");
    let id = overnight_domain::ids::AccountId::from_bits(8);
    crate::store::accounts::insert(&beside, id, "second", START).await.expect("an account");
    let found = crate::store::accounts::find(&fixture.store, id).await.expect("a read");
    assert_eq!(found.map(|account| account.name), Some("second".to_owned()));
}
