//! The first start of a service with an empty store.

use std::fs;
use std::sync::Arc;

use overnight_app::api_keys::{self, Presented};
use overnight_app::{Services, accounts, bootstrap, closing};
use overnight_base::clock::SystemClock;
use overnight_config::{Config, Sources};
use overnight_domain::ids::AccountId;
use tempfile::TempDir;

use crate::support::{open_services, store_options};

async fn start() -> (TempDir, Services) {
    let folder = tempfile::tempdir().expect("a folder");
    let flags = vec![("data_dir".to_owned(), folder.path().display().to_string())];
    let config = Config::load(&Sources { flags, ..Sources::default() }).expect("settings");
    let services = open_services(&store_options(folder.path()), config, Arc::new(SystemClock)).await;
    (folder, services)
}

#[tokio::test]
async fn the_first_start_makes_an_account_and_a_key_and_no_later_one_does() {
    let (folder, services) = start().await;
    let made = bootstrap::run(&services).await.expect("a first start").expect("a key");
    assert_eq!(made.key_path, folder.path().join("api-key"));
    assert_eq!(fs::read_to_string(&made.key_path).expect("the key").trim_end(), made.key);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&made.key_path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let key = match api_keys::present(&services, made.key.as_bytes()).expect("a key") {
        Presented::Unread(key) => key,
        Presented::Opens(opened) => panic!("{opened:?} is known already"),
    };
    let opened = api_keys::look_up(&services, key).await.expect("a valid key");
    let accounts = accounts::list(&services).await.expect("accounts");
    assert_eq!((accounts[0].key, accounts[0].name.as_str()), (opened.account, "default"));
    assert_eq!(accounts[0].available().to_string(), "100");
    assert!(accounts[0].payments_activated_at.is_some());
    assert!(bootstrap::run(&services).await.expect("a second start").is_none());
    services.store.close().await;
}

#[tokio::test]
async fn a_first_start_that_was_interrupted_is_completed() {
    let (folder, services) = start().await;
    let account = accounts::create(&services, "default").await.expect("an account");
    accounts::activate(&services, account.id).await.expect("an activation");
    fs::write(folder.path().join("api-key"), "a key that was never stored").expect("a file");
    fs::write(folder.path().join("api-key.part"), "half a key").expect("a file");
    let made = bootstrap::run(&services).await.expect("a start").expect("a key");
    assert_eq!(fs::read_to_string(&made.key_path).expect("the key").trim_end(), made.key);
    assert!(!folder.path().join("api-key.part").exists());
    assert_eq!(accounts::list(&services).await.expect("accounts").len(), 1);
    services.store.close().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_in_the_place_of_the_key_is_replaced_and_not_followed() {
    let (folder, services) = start().await;
    let target = folder.path().join("elsewhere");
    fs::write(&target, "untouched").expect("a file");
    for name in ["api-key", "api-key.part"] {
        std::os::unix::fs::symlink(&target, folder.path().join(name)).expect("a link");
    }
    bootstrap::run(&services).await.expect("a start").expect("a key");
    assert_eq!(fs::read_to_string(&target).expect("a file"), "untouched");
    services.store.close().await;
}

#[tokio::test]
async fn a_store_with_an_account_of_the_operators_own_is_left_alone() {
    let (_folder, services) = start().await;
    let account: AccountId = accounts::create(&services, "ours").await.expect("an account").id;
    assert!(bootstrap::run(&services).await.expect("a start").is_none());
    assert_eq!(api_keys::list(&services, account).await.expect("keys").keys, []);
    services.store.close().await;
}

#[tokio::test]
async fn a_service_whose_only_account_is_closed_starts() {
    let (_folder, services) = start().await;
    let account = accounts::create(&services, "default").await.expect("an account").id;
    closing::close(&services, account).await.expect("an end");
    assert!(bootstrap::run(&services).await.expect("a start").is_none());
    assert_eq!(api_keys::list(&services, account).await.expect("keys").keys, []);
    bootstrap::link_operator(&services).await.expect("a start").expect("an operator");
    services.store.close().await;
}
