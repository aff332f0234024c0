//! Opening the database.

use overnight_domain::requests::RequestStatus;

use crate::clock::ManualClock;
use crate::store::database::Dialect;
use crate::store::outbox::webhook_secrets;
use crate::store::queue::expiry;
use crate::store::tests::webhooks::{HOOK, cancel};
use crate::store::tests::{DAY_MS, Fixture, START, new_account};
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

/// What 0007, 0006 and 0005 did, undone.
macro_rules! before_0005 {
    () => {
        "
    DROP VIEW current_requests;
    DROP VIEW current_states;
    DROP TABLE users;
    DROP TABLE members;
    DROP TABLE sessions;
    DROP TABLE sign_in_links;
    DROP TABLE invitations;
    DROP TABLE sign_in_failures;
    DROP TABLE activity;
    DROP TABLE engine_reports;
    ALTER TABLE api_keys DROP COLUMN last_used_at;
    DROP INDEX batches_live;
    DROP TABLE events;
    DROP TABLE deliveries;
    DROP TABLE webhook_secrets;
    ALTER TABLE progress DROP COLUMN lane;
    ALTER TABLE queue DROP COLUMN lane;
    ALTER TABLE batches DROP COLUMN lane"
    };
}

/// What 0007 to 0002 did, undone.
const BEFORE_0002: &str = concat!(
    before_0005!(),
    ";
    ALTER TABLE accounts DROP COLUMN balance;
    ALTER TABLE accounts DROP COLUMN held;
    ALTER TABLE accounts DROP COLUMN payments_activated_at;
    ALTER TABLE progress DROP COLUMN hold;
    ALTER TABLE progress DROP COLUMN price;
    ALTER TABLE queue DROP COLUMN hold;
    ALTER TABLE queue DROP COLUMN price;
    DROP TABLE prices;
    DROP TABLE ledger;
    DROP TABLE spend;
    DROP TABLE payments;
    ALTER TABLE requests DROP COLUMN max_tokens;
    ALTER TABLE queue DROP COLUMN batch;
    ALTER TABLE owners DROP COLUMN name;
    ALTER TABLE owners DROP COLUMN schedules;
    DROP TABLE sweeps;
    DROP TABLE replicas;
    DROP TABLE drivers;
    DROP TABLE commits;
    UPDATE progress SET state = 2, in_progress_at = q.in_progress_at
        FROM queue q WHERE q.seq = progress.seq AND q.in_progress_at IS NOT NULL;
    ALTER TABLE queue DROP COLUMN in_progress_at;
    DROP INDEX progress_by_deadline;
    CREATE INDEX progress_live ON progress (model, deadline) WHERE state < 3;
    PRAGMA user_version = 1"
);

#[tokio::test]
async fn what_was_in_progress_stays_so_when_the_schema_grows() {
    let mut fixture = Fixture::on_sqlite().await;
    let id = fixture.insert(&[1]).await[0];
    fixture.release().await;
    fixture.lease().await;
    fixture.insert(&[2]).await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    connection.execute_all(BEFORE_0002).await.expect("an old database");
    drop(connection);
    fixture.restart().await;
    assert_eq!(fixture.status(id).await, RequestStatus::InProgress);
    fixture.assert_sound().await;
    assert_eq!(fixture.lease().await.len(), 1);
    assert!(expiry::is_overdue(&fixture.store, START + DAY_MS).await.expect("a read"));
}

/// The same; then the number of the schema in either database.
const BEFORE_0005: &str = before_0005!();

on_both!(what_lives_when_events_come_is_told_of_and_what_had_ended_is_not);
async fn what_lives_when_events_come_is_told_of_and_what_had_ended_is_not(mut fixture: Fixture) {
    let ended = fixture.insert_told(1, HOOK).await;
    cancel(&fixture, ended, START + 1).await;
    let queued = fixture.insert_told(2, HOOK).await;
    fixture.release().await;
    let gathering = fixture.insert_told(3, HOOK).await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    connection.execute_all(BEFORE_0005).await.expect("an old database");
    let version = match connection.dialect() {
        Dialect::Sqlite => "PRAGMA user_version = 4",
        Dialect::Postgres => "DELETE FROM schema_version WHERE version >= 5",
    };
    connection.execute_all(version).await.expect("an old database");
    drop(connection);
    fixture.restart().await;
    fixture.assert_sound().await;
    for id in [queued, gathering] {
        cancel(&fixture, id, START + 2).await;
    }
    let subjects: Vec<_> = fixture.events().await.into_iter().filter_map(|event| event.subject).collect();
    assert_eq!(subjects, [queued, gathering].map(|id| id.to_string()));
    let secrets = webhook_secrets::list(&fixture.store, fixture.account, START).await.expect("the secrets");
    assert!(matches!(secrets.as_slice(), [secret] if secret.secret.bytes().len() == 32), "{secrets:?}");
    fixture.assert_sound().await;
}
