//! Opening the database.

use crate::tests::prelude::*;

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
    let id = AccountId::from_bits(8);
    accounts::insert(&beside, &new_account(8)).await.expect("an account");
    let found = accounts::find(&fixture.store, id).await.expect("a read");
    assert_eq!(found.map(|account| account.name), Some("account 8".to_owned()));
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_database_is_its_owners_only_in_a_folder_that_others_enter() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("thesis.txt"), "not ours").expect("a file");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("a mode");
    let store =
        Store::open(&StoreOptions::new(folder.path()), ManualClock::at(START)).await.expect("a store");
    for name in ["overnight.db", "overnight.db-wal", "overnight.db-shm"] {
        let mode = fs::metadata(folder.path().join(name)).expect(name).permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    store.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_everyone_writes_to_is_refused() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("thesis.txt"), "not ours").expect("a file");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("a mode");
    let refused = Store::open_beside(&StoreOptions::new(folder.path())).await.err();
    let Some(StoreError::Exposed(exposure)) = refused else { panic!("it was opened: {refused:?}") };
    assert_eq!((exposure.path.as_path(), exposure.found), (folder.path(), 0o777));
    assert!(!folder.path().join("overnight.db").exists());
}
