//! What runs through a pooler that lends a server for one transaction at a time: each statement beside transactions is one of its own.

use crate::tests::prelude::*;

/// A server that is reached as if such a pooler stood before it.
async fn fixture() -> Fixture {
    Fixture::on_server(|_, url| {
        let separator = if url.contains('?') { '&' } else { '?' };
        format!("{url}{separator}statement-cache-capacity=0")
    })
    .await
}

/// Whether rows are found by keys, which a transaction of the store says for its length.
async fn are_rows_found_by_keys(connection: &mut Connection) -> bool {
    let query = sql("SELECT current_setting('enable_seqscan') AS said");
    let row = connection.fetch_one(query).await.expect("an answer");
    row.get::<String>("said").expect("a text") == "off"
}

#[tokio::test]
async fn a_statement_beside_transactions_is_one_of_its_own() {
    let fixture = fixture().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    assert!(are_rows_found_by_keys(&mut connection).await);
    for end in ["COMMIT", "ROLLBACK"] {
        connection.execute_all("BEGIN").await.expect("a transaction");
        assert!(!are_rows_found_by_keys(&mut connection).await, "it is part of the one that was begun");
        connection.execute_all(end).await.expect("an end");
        assert!(are_rows_found_by_keys(&mut connection).await, "behind {end}");
    }
    connection.close().await.expect("an end");
}

#[tokio::test]
async fn a_transaction_that_fails_leaves_nothing_behind() {
    let fixture = fixture().await;
    let outcome = fixture.store.transaction(async |tx: &mut Tx<'_>| {
        tx.execute(sql("INSERT INTO settings (name, value) VALUES ('half', ''::bytea)")).await?;
        Err::<(), _>(StoreError::Stopped)
    });
    assert!(matches!(outcome.await, Err(StoreError::Stopped)));
    let query = sql("SELECT count(*) AS count FROM settings WHERE name = 'half'");
    let row = fixture.store.readers().fetch_one(query).await.expect("a read");
    assert_eq!(row.get::<i64>("count").expect("a number"), 0);
}
