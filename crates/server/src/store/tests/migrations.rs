//! Databases of earlier schemas: each migration keeps their rows.

use overnight_domain::requests::RequestStatus;

use crate::store::database::{Dialect, sql};
use crate::store::outbox::webhook_secrets;
use crate::store::queue::expiry;
use crate::store::schema;
use crate::store::tests::transfer::{exported, insert_sample_data};
use crate::store::tests::webhooks::{HOOK, cancel};
use crate::store::tests::{DAY_MS, Fixture, START, catalogue};

/// Undoes 0040 to 0014 and 0012 to 0010 (0013 may run twice), then 0009 as far as both databases have the same text for it, but for the views.
macro_rules! before_0009 {
    () => {
        "
    DROP VIEW overnight_audit_log;
    DROP TABLE audit_log;
    DROP VIEW overnight_objects;
    DROP VIEW overnight_requests;
    DROP TABLE objects;
    DROP VIEW overnight_spend_by_key;
    DROP TABLE spend_by_key;
    ALTER TABLE request_states DROP COLUMN api_key;
    DROP VIEW overnight_accounts;
    DROP VIEW overnight_batches;
    DROP VIEW overnight_queue;
    DROP VIEW overnight_attempts;
    DROP VIEW overnight_files;
    DROP VIEW overnight_api_keys;
    DROP VIEW overnight_users;
    DROP VIEW overnight_members;
    DROP VIEW overnight_ledger;
    DROP VIEW overnight_spend;
    DROP VIEW overnight_payments;
    DROP VIEW overnight_webhook_events;
    DROP VIEW overnight_webhook_attempts;
    DROP VIEW overnight_nodes;
    DROP VIEW overnight_engines;
    DROP INDEX accounts_closed;
    DROP INDEX accounts_low_credits;
    ALTER TABLE accounts DROP COLUMN low_credits_threshold;
    ALTER TABLE accounts DROP COLUMN low_credits_webhook;
    ALTER TABLE accounts DROP COLUMN low_credits_notified;
    ALTER TABLE accounts DROP COLUMN low_credits_notified_at;
    DROP INDEX accounts_monthly;
    ALTER TABLE accounts DROP COLUMN monthly_credits;
    ALTER TABLE accounts DROP COLUMN monthly_credits_month;
    ALTER TABLE accounts DROP COLUMN retention_ms;
    ALTER TABLE accounts DROP COLUMN closed_at;
    ALTER TABLE accounts DROP COLUMN erase_at;
    ALTER TABLE accounts DROP COLUMN erased_at;
    ALTER TABLE accounts DROP COLUMN data_key;
    ALTER TABLE requests DROP COLUMN trace;
    ALTER TABLE api_keys DROP COLUMN scope;
    ALTER TABLE accounts DROP COLUMN suspended_at;
    ALTER TABLE results DROP COLUMN engine;
    DROP INDEX payments_to_check;
    DROP INDEX payments_to_check_by_account;
    ALTER TABLE payments DROP COLUMN check_at;
    ALTER TABLE attempts DROP COLUMN engine;
    ALTER TABLE request_states DROP COLUMN released_at;
    ALTER TABLE activity DROP COLUMN completed_1;
    ALTER TABLE activity DROP COLUMN failed_1;
    ALTER TABLE activity DROP COLUMN cancelled_1;
    ALTER TABLE activity DROP COLUMN tokens_1;
    ALTER TABLE activity DROP COLUMN amount_1;
    ALTER TABLE activity DROP COLUMN completed_2;
    ALTER TABLE activity DROP COLUMN failed_2;
    ALTER TABLE activity DROP COLUMN cancelled_2;
    ALTER TABLE activity DROP COLUMN tokens_2;
    ALTER TABLE activity DROP COLUMN amount_2;
    DROP TABLE uploads;
    DROP TABLE batch_ends;
    DROP TABLE batch_inputs;
    DROP TABLE file_pieces;
    DROP TABLE files;
    DROP TABLE idempotency_keys;
    DROP TABLE engine_days;
    ALTER TABLE engine_reports DROP COLUMN process;
    ALTER TABLE requests DROP COLUMN fifo_hit_permille;
    ALTER TABLE engine_reports DROP COLUMN prefix_cache;
    ALTER TABLE engine_reports DROP COLUMN models_out;
    ALTER TABLE engine_reports DROP COLUMN tokens_per_second;
    ALTER TABLE engine_reports DROP COLUMN cache_hit_percent;
    DROP TABLE segments;
    CREATE TABLE sweeps (model BIGINT, account BIGINT);
    DROP INDEX api_keys_usable;
    DROP INDEX events_exhausted;
    DROP TABLE last_deleted;
    ALTER TABLE batches DROP COLUMN deleted;
    ALTER TABLE accounts DROP COLUMN live_requests;
    ALTER TABLE accounts DROP COLUMN stored_bytes;
    ALTER TABLE accounts DROP COLUMN live_requests_quota;
    ALTER TABLE accounts DROP COLUMN stored_bytes_quota;
    ALTER TABLE accounts DROP COLUMN requests_per_second_quota;
    ALTER TABLE accounts DROP COLUMN tokens_per_day_quota;
    DROP TABLE attempts;
    DROP VIEW current_requests;
    DROP VIEW current_states;
    ALTER TABLE requests DROP COLUMN endpoint;
    ALTER TABLE requests DROP COLUMN alias;
    ALTER TABLE results DROP COLUMN warnings;
    ALTER TABLE queue RENAME COLUMN node TO owner;
    ALTER TABLE events RENAME COLUMN node TO owner;
    ALTER TABLE replicas RENAME COLUMN node TO owner;
    ALTER TABLE engine_reports RENAME COLUMN node TO owner;
    ALTER TABLE node_replicas RENAME COLUMN node TO owner;
    ALTER TABLE commit_markers RENAME COLUMN node TO owner;
    ALTER TABLE request_states RENAME TO progress;
    ALTER TABLE price_points RENAME TO prices;
    ALTER TABLE nodes RENAME TO owners;
    ALTER TABLE node_replicas RENAME TO drivers;
    ALTER TABLE commit_markers RENAME TO commits;
    DROP INDEX request_states_by_account;
    DROP INDEX request_states_by_batch;
    DROP INDEX request_states_gathering;
    DROP INDEX request_states_by_deadline;
    CREATE INDEX progress_by_account ON progress (account, seq);
    CREATE INDEX progress_by_batch ON progress (batch, seq) WHERE batch IS NOT NULL;
    CREATE INDEX progress_by_deadline ON progress (deadline);"
    };
}

/// The same, with the parts that differ between the databases and the number of the schema.
const BEFORE_0009_ON_SQLITE: &str = concat!(
    before_0009!(),
    "CREATE INDEX progress_gathering ON progress (ready_at, seq) WHERE state = 0;
    PRAGMA user_version = 8;"
);
const BEFORE_0009_ON_POSTGRES: &str = concat!(
    before_0009!(),
    "CREATE INDEX progress_gathering ON progress (ready_at, seq) WHERE ready_at IS NOT NULL;
    ALTER INDEX request_states_pkey RENAME TO progress_pkey;
    ALTER INDEX price_points_pkey RENAME TO prices_pkey;
    ALTER INDEX price_points_input_output_key RENAME TO prices_input_output_key;
    ALTER SEQUENCE price_points_seq_seq RENAME TO prices_seq_seq;
    ALTER INDEX nodes_pkey RENAME TO owners_pkey;
    ALTER SEQUENCE nodes_seq_seq RENAME TO owners_seq_seq;
    ALTER INDEX node_replicas_pkey RENAME TO drivers_pkey;
    ALTER INDEX commit_markers_pkey RENAME TO commits_pkey;
    DROP FUNCTION overnight_id(text, bytea);
    DROP FUNCTION overnight_id_bytes(text);
    DROP FUNCTION overnight_credits(bigint);
    DELETE FROM schema_version WHERE version >= 9;
    UPDATE owners SET heartbeat_at = 0;"
);

/// The views of 0008.
pub(super) const VIEWS_OF_0008: &str = include_str!("../../../migrations/sqlite/0007_current_requests.sql");

/// Undoes 0040 to 0009, then earlier migrations with the texts of `earlier`.
pub(super) async fn take_back(fixture: &Fixture, earlier: &[&'static str]) {
    let mut connection = fixture.store.connect().await.expect("a connection");
    let before_0009 = match connection.dialect() {
        Dialect::Sqlite => BEFORE_0009_ON_SQLITE,
        Dialect::Postgres => BEFORE_0009_ON_POSTGRES,
    };
    for texts in [&[before_0009], earlier] {
        for text in texts {
            connection.execute_all(text).await.expect("an old database");
        }
    }
    connection.close().await.expect("an end");
}

/// Each table, index, view and sequence of the schema, and its definition. PostgreSQL 18 names what may not be null, by names that a rename keeps.
async fn definitions(fixture: &Fixture) -> Vec<(String, String)> {
    let list = match fixture.store.dialect() {
        Dialect::Sqlite => {
            "SELECT type || ' ' || name AS name, replace(replace(coalesce(sql, ''), '\"', ''), '/* in progress */', '') AS text FROM sqlite_schema ORDER BY 1"
        }
        Dialect::Postgres => {
            "SELECT c.relkind::text || ' ' || c.relname AS name, concat_ws(' ', c.reloptions::text,
                    CASE c.relkind WHEN 'i' THEN pg_get_indexdef(c.oid) WHEN 'v' THEN pg_get_viewdef(c.oid) END,
                    pg_get_serial_sequence(c.oid::regclass::text, a.attname), (
                        SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname)
                        FROM pg_constraint WHERE conrelid = c.oid AND contype <> 'n')) AS text
             FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'seq' AND c.relkind = 'r'
             WHERE c.relnamespace = current_schema()::regnamespace ORDER BY 1"
        }
    };
    let mut connection = fixture.store.connect().await.expect("a connection");
    let rows = connection.fetch(sql(list)).await.expect("the schema");
    connection.close().await.expect("an end");
    rows.iter().map(|row| (row.get("name").expect("a name"), row.get("text").expect("a text"))).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
}

on_both!(a_store_of_schema_8_keeps_every_row_under_the_new_names);
async fn a_store_of_schema_8_keeps_every_row_under_the_new_names(mut fixture: Fixture) {
    let fresh = (definitions(&fixture).await, catalogue(&fixture).await);
    insert_sample_data(&mut fixture).await;
    fixture.restart().await;
    forget_what_came_later(&fixture).await;
    let rows = exported(&fixture.store).await;
    fixture.store.close().await;
    take_back(&fixture, &[VIEWS_OF_0008]).await;
    assert!(catalogue(&fixture).await.contains_key("progress"), "this is schema 8");
    assert_eq!(schema::read(&fixture.options).await.expect("a number").now, 8);
    assert_running_nodes_refuse_it(&fixture).await;
    fixture.restart().await;
    assert!(rows == exported(&fixture.store).await, "the rows differ");
    assert_eq!((definitions(&fixture).await, catalogue(&fixture).await), fresh);
    assert_no_old_name(&fresh.0);
    fixture.assert_sound().await;
    assert!(!fixture.lease().await.is_empty());
    fixture.assert_sound().await;
}

/// The operator's views say `owner` and `in progress` in words.
fn assert_no_old_name(definitions: &[(String, String)]) {
    let definitions = definitions.iter().filter(|(name, _)| !name.contains("overnight_"));
    let renamed = ["owner", "owners", "progress", "prices", "drivers", "commits"];
    for word in definitions.flat_map(|(name, text)| [name, text]).flat_map(|text| words(text)) {
        assert!(!renamed.iter().any(|old| word == *old || word.starts_with(&format!("{old}_"))), "{word}");
    }
}

/// Schema 8 knows no audit log, no low credits, no attempts, no warnings, no names of engines, no order of ends, no endpoints, no aliases, no spend by key, no scopes of keys, no times of releases and no parts of quarters of an hour.
async fn forget_what_came_later(fixture: &Fixture) {
    let mut connection = fixture.store.connect().await.expect("a connection");
    const FORGET: &str = "UPDATE accounts SET stored_bytes = stored_bytes - (
            SELECT coalesce(sum(octet_length(a.message)), 0) FROM attempts a JOIN requests r ON r.seq = a.request
            WHERE r.account = accounts.seq);
        DELETE FROM attempts;
        DELETE FROM batch_ends;
        DELETE FROM audit_log;
        UPDATE accounts SET low_credits_threshold = NULL, low_credits_webhook = NULL, low_credits_notified = NULL,
            low_credits_notified_at = NULL;
        UPDATE requests SET endpoint = 0, alias = NULL;
        UPDATE api_keys SET scope = 0;
        UPDATE results SET warnings = NULL, engine = NULL;
        DELETE FROM spend_by_key;
        UPDATE request_states SET released_at = NULL, api_key = NULL;
        UPDATE payments SET check_at = created_at WHERE check_at IS NOT NULL;
        UPDATE activity SET completed_1 = 0, failed_1 = 0, cancelled_1 = 0, tokens_1 = 0, amount_1 = 0,
            completed_2 = 0, failed_2 = 0, cancelled_2 = 0, tokens_2 = 0, amount_2 = 0";
    connection.execute_all(FORGET).await.expect("a statement");
    connection.close().await.expect("an end");
}

/// On PostgreSQL nothing else keeps a migration away from nodes that know the old names only.
async fn assert_running_nodes_refuse_it(fixture: &Fixture) {
    const BEAT: &str = "UPDATE owners SET heartbeat_at = extract(epoch FROM clock_timestamp()) * 1000";
    if fixture.store.dialect() == Dialect::Sqlite {
        return;
    }
    let mut connection = fixture.store.connect().await.expect("a connection");
    connection.execute_all(BEAT).await.expect("a running node");
    let refused = schema::bring_up_to_date(&fixture.options).await.expect_err("a node runs");
    assert!(refused.to_string().contains("stop all of them"), "{refused}");
    assert_eq!(schema::read(&fixture.options).await.expect("a number").now, 8);
    connection.execute_all("UPDATE owners SET heartbeat_at = 0").await.expect("a stopped node");
    connection.close().await.expect("an end");
}

/// What 0006 and 0005 did, undone; the views of 0007 are gone with 0009.
macro_rules! before_0005 {
    () => {
        "
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

/// What 0006 to 0002 did, undone.
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
    take_back(&fixture, &[BEFORE_0002]).await;
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
    let version = match fixture.store.dialect() {
        Dialect::Sqlite => "PRAGMA user_version = 4",
        Dialect::Postgres => "DELETE FROM schema_version WHERE version >= 5",
    };
    take_back(&fixture, &[BEFORE_0005, version]).await;
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
