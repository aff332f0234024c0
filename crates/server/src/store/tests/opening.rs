//! Opening the database.

use crate::clock::ManualClock;
use crate::store::tests::{Fixture, START, new_account};
use crate::store::{FolderLock, Store, StoreError};

#[tokio::test]
async fn a_second_server_is_refused_and_told_who_holds_the_folder() {
    let fixture = Fixture::on_sqlite().await;
    let refused = Store::open(&fixture.options, ManualClock::at(START)).await.err();
    let Some(StoreError::Locked { pid, .. }) = refused else {
        panic!("a second server was let in: {refused:?}")
    };
    assert_eq!(pid, std::process::id().to_string());
    assert_eq!(FolderLock::holder(fixture.folder()), Some(pid));
    fixture.store.close().await;
    assert_eq!(FolderLock::holder(fixture.folder()), None);
}

#[tokio::test]
async fn the_sort_key_secret_is_made_once() {
    let mut fixture = Fixture::on_sqlite().await;
    let secret = *fixture.store.sort_key_secret();
    fixture.restart().await;
    assert_eq!(*fixture.store.sort_key_secret(), secret);
    assert_ne!(secret, [0; 32]);
}

#[tokio::test]
async fn operators_write_beside_a_running_server() {
    let fixture = Fixture::on_sqlite().await;
    let beside = Store::open_beside(&fixture.options).await.expect("a store beside");
    let id = overnight_domain::ids::AccountId::from_bits(8);
    crate::store::identity::accounts::insert(&beside, &new_account(8)).await.expect("an account");
    let found = crate::store::identity::accounts::find(&fixture.store, id).await.expect("a read");
    assert_eq!(found.map(|account| account.name), Some("account 8".to_owned()));
}
