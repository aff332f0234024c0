//! What was moved is what was there, and life goes on with it.

use crate::tests::grouping;
use crate::tests::prelude::*;
use crate::tests::transfer::sample_data::insert_sample_data;
use crate::tests::transfer::{Target, exported};

/// Moves out of a store whose file this is into an empty one, and goes on there.
async fn moved(source: Fixture, target: Target, file: &[u8]) -> (Fixture, Counts) {
    let counts = target.import(file).await.expect("an import");
    source.store.close().await;
    let store = target.open().await;
    let Target { options, folder } = target;
    (Fixture { store, options, _folder: folder, ..source }, counts)
}

#[tokio::test]
async fn what_goes_from_sqlite_to_postgres_and_back_is_the_same() {
    let mut on_sqlite = Fixture::on_sqlite().await;
    insert_sample_data(&mut on_sqlite).await;
    let file = exported(&on_sqlite.store).await;
    let secret = *on_sqlite.store.sort_key_secret();

    let (on_postgres, counts) = moved(on_sqlite, Target::on_postgres(), &file).await;
    on_postgres.assert_sound().await;
    assert_eq!(*on_postgres.store.sort_key_secret(), secret);
    let again = exported(&on_postgres.store).await;
    assert!(file == again, "what PostgreSQL tells differs");

    let (on_sqlite, counted_again) = moved(on_postgres, Target::on_sqlite(), &again).await;
    on_sqlite.assert_sound().await;
    assert_eq!(*on_sqlite.store.sort_key_secret(), secret);
    assert!(file == exported(&on_sqlite.store).await, "what SQLite tells differs");
    assert_eq!(counts, counted_again);
    let tables =
        "accounts api_keys models requests request_states results batches events deliveries webhook_secrets";
    let counted: Vec<_> = tables.split(' ').map(|table| counts.of(table)).collect();
    assert_eq!(counted, [1, 2, 1, 316, 316, 4, 3, 6, 2, 2]);
}

#[tokio::test]
async fn what_is_new_comes_behind_what_was_moved() {
    for (mut source, target) in [
        (Fixture::on_sqlite().await, Target::on_postgres()),
        (Fixture::on_postgres().await, Target::on_sqlite()),
    ] {
        insert_sample_data(&mut source).await;
        let file = exported(&source.store).await;
        let (mut fixture, _) = moved(source, target, &file).await;

        let account = accounts::insert(&fixture.store, &new_account(8)).await;
        assert_eq!(account.expect("an account").key.0, fixture.account.0 + 1);
        let model = models::ensure(&fixture.store, &["newer"]).await.expect("a model")[0];
        assert_eq!(model.0, fixture.model.0 + 1);
        for batch in batches::list_cancelling(&fixture.store).await.expect("what was left half-way") {
            let chunk =
                batches::cancel_chunk(&fixture.store, batch, None, START + 30).await.expect("a chunk");
            assert_eq!((chunk.ended.len(), chunk.next), (3, None));
        }
        let ids = fixture.insert(&[30, 31]).await;
        let batch = grouping::new_batch(&mut fixture, &ids).await;
        batches::insert(&fixture.store, batch).await.expect("a batch");
        let leases = fixture.release_and_lease().await;
        assert_eq!(leases.len(), 306);
        for lease in &leases {
            assert!(fixture.settle(lease, START + 40).await);
        }
        for id in ids {
            assert_eq!(fixture.status(id).await, RequestStatus::Completed);
        }
        fixture.assert_sound().await;
    }
}

on_both!(an_export_while_requests_move_is_of_one_moment);
async fn an_export_while_requests_move_is_of_one_moment(fixture: &mut Fixture) {
    insert_sample_data(fixture).await;
    let fresh: Vec<_> = (0..200).map(|key| fixture.request(key)).collect();
    let work = async {
        for request in fresh {
            fixture.put(request).await;
        }
        for lease in fixture.release_and_lease().await.iter().take(50) {
            fixture.settle(lease, START + 50).await;
        }
    };
    let (before, (), after) = tokio::join!(exported(&fixture.store), work, exported(&fixture.store));
    for file in [before, after] {
        Target::on_sqlite().import(&file).await.expect("an import, which recounts what must hold");
    }
}

on_both!(a_store_that_operators_have_only_looked_at_takes_an_import);
async fn a_store_that_operators_have_only_looked_at_takes_an_import(fixture: &mut Fixture) {
    let file = exported(&fixture.store).await;
    let lines =
        ["what it is", "secret", "account", "model", "grant", "webhook secret", "two changes", "", "counts"];
    assert_eq!(file.iter().filter(|byte| **byte == b'\n').count(), lines.len());
    for target in [Target::on_sqlite(), Target::on_postgres()] {
        let looked_at = Store::open_beside(&target.options).await.expect("a store beside");
        models::ensure(&looked_at, &["of the settings"]).await.expect("a model");
        looked_at.close().await;
        target.import(&file).await.expect("an import");
        assert!(file == exported(&target.open().await).await);
    }
}

/// What the last program of schema 40 exported (commit c0e51b91): requests of every state, batches of requests and of a file, an upload, events,
/// attempts, users, an audit log.
const OF_SCHEMA_40: &str = include_str!("schema_40.jsonl");

/// The lines of rows, between the first line and the last.
fn rows_of(file: &str) -> Vec<&str> {
    let lines: Vec<&str> = file.lines().collect();
    lines[1..lines.len() - 1].to_vec()
}

#[tokio::test]
async fn export_of_schema_40_is_imported_whole() {
    for target in [Target::on_sqlite(), Target::on_postgres()] {
        let counts = target.import(OF_SCHEMA_40.as_bytes()).await.expect("an import");
        assert_eq!(["requests", "batches", "events", "files"].map(|table| counts.of(table)), [11, 2, 3, 1]);
        let store = target.open().await;
        let checks = audit::run(&store).await.expect("an audit");
        let broken: Vec<_> = checks.iter().filter(|check| check.breaches > 0).collect();
        assert!(broken.is_empty(), "{broken:?}");
        let again = String::from_utf8(exported(&store).await).expect("a file of text");
        let with_new_columns: Vec<String> = rows_of(OF_SCHEMA_40)
            .into_iter()
            .map(|row| match row.split('"').nth(1) {
                Some("idempotency_keys") => row.replace("]]", ",null]]"),
                Some("batches") => row.replace("]]", ",null,null,null,null]]"),
                _ => row.to_owned(),
            })
            .collect();
        assert_eq!(rows_of(&again), with_new_columns);
    }
}
