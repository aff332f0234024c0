//! Roles of PostgreSQL that may do less than they need, and one that may do what it needs.

use crate::server_faults::server_faults;
use crate::tests::prelude::*;
use crate::tests::schemas::LATER;

fn options_of(fixture: &Fixture, role: &str) -> StoreOptions {
    let url = fixture.options.server_url.as_ref().expect("a server");
    let server_url = Some(url.replace("overnight@", &format!("{role}@")));
    StoreOptions { server_url, ..fixture.options.clone() }
}

async fn refusal(options: &StoreOptions) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StoreOptions { folder: folder.path().to_owned(), ..options.clone() };
    match Store::open(&options, Arc::new(SystemClock)).await {
        Ok(_) => panic!("the store opens"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_role_that_lacks_a_right_is_told_on_what_and_what_to_grant() {
    let fixture = Fixture::on_postgres().await;
    fixture.execute("CREATE ROLE poor LOGIN").await;
    let options = options_of(&fixture, "poor");
    let mut seen = Vec::new();
    for (grant, wanted) in [
        (
            "SELECT 1",
            [
                "permission denied for table schema_version",
                "GRANT SELECT, INSERT, UPDATE, DELETE ON schema_version TO ROLE",
            ],
        ),
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO poor",
            ["permission denied for table ", "GRANT SELECT, INSERT, UPDATE, DELETE ON "],
        ),
        (
            "REVOKE USAGE ON SCHEMA public FROM PUBLIC",
            ["no schema has been selected", "GRANT USAGE, CREATE ON SCHEMA public TO ROLE"],
        ),
    ] {
        fixture.execute(grant).await;
        let refusal = refusal(&options).await;
        assert!(wanted.iter().all(|wanted| refusal.contains(wanted)), "{grant}: {refusal}");
        assert!(refusal.contains("docs/postgresql.md#roles") && !refusal.contains("at line"), "{refusal}");
        seen.push(refusal);
    }
    let migrating = schema::bring_up_to_date(&options).await.expect_err("no schema").to_string();
    assert_eq!(Some(&migrating), seen.last());
    assert!(schema::read(&options).await.is_ok_and(|schema| schema.found == 0), "nothing is seen");
}

#[tokio::test]
async fn role_that_does_not_own_the_tables_is_told_who_brings_them_up_to_date() {
    let fixture = Fixture::on_postgres().await;
    fixture.execute("CREATE ROLE poor_migrator LOGIN").await;
    let options = options_of(&fixture, "poor_migrator");
    for (grant, wanted) in [
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO poor_migrator",
            ["permission denied for schema public", "GRANT USAGE, CREATE ON SCHEMA public TO ROLE"],
        ),
        (
            "GRANT CREATE ON SCHEMA public TO poor_migrator",
            ["must be owner of table requests", "run `overnight migrate` as the owner"],
        ),
    ] {
        fixture.execute(grant).await;
        let refusal = schema::bring_to(&LATER, &options).await.expect_err("no right").to_string();
        assert!(wanted.iter().all(|wanted| refusal.contains(wanted)), "{grant}: {refusal}");
    }
}

#[tokio::test]
async fn a_role_that_may_not_make_tables_is_told_in_which_schema() {
    let fixture = Fixture::on_postgres().await;
    fixture.execute("CREATE ROLE new_one LOGIN").await;
    let url = Cluster::shared().database("rights_of_nobody").expect("a database");
    let server_url = Some(url.replace("overnight@", "new_one@"));
    let refusal = refusal(&StoreOptions { server_url, ..fixture.options.clone() }).await;
    let wanted = ["permission denied for schema public", "GRANT USAGE, CREATE ON SCHEMA public TO ROLE"];
    assert!(wanted.iter().all(|wanted| refusal.contains(wanted)), "{refusal}");
}

#[tokio::test]
async fn a_write_that_lacks_a_right_is_refused_with_what_to_grant() {
    let mut fixture = Fixture::on_postgres().await;
    let grants = "CREATE ROLE poor_writer LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO poor_writer";
    fixture.execute(grants).await;
    fixture.store.close().await;
    fixture.options = options_of(&fixture, "poor_writer");
    fixture.restart().await;
    let request = fixture.request(1);
    let refusal = requests::insert(&fixture.store, request).await.expect_err("no right").to_string();
    let wanted =
        ["permission denied for sequence requests_seq_seq", "GRANT USAGE, SELECT, UPDATE ON SEQUENCE"];
    assert!(wanted.iter().all(|wanted| refusal.contains(wanted)), "{refusal}");
    fixture.assert_sound().await;
}

/// As the page for operators has it.
#[tokio::test]
async fn a_role_with_the_documented_rights_serves_what_another_migrated() {
    const PAGE: &str = include_str!("../../../../docs/postgresql.md");
    let mut fixture = Fixture::on_postgres().await;
    let grants = PAGE.split("<!-- service -->\n```sql\n").nth(1).and_then(|rest| rest.split("```").next());
    let grants =
        grants.expect("the statements of the page").replace("overnight_service", "service_of_rights");
    fixture.execute(grants).await;
    fixture.store.close().await;
    fixture.options = options_of(&fixture, "service_of_rights");
    fixture.restart().await;
    let (ids, leases) = fixture.leased(&[1, 2]).await;
    assert!(fixture.settle(&leases[0], START + 2).await);
    requests::cancel(&fixture.store, fixture.account, ids[1], START + 3).await.expect("a cancel");
    fixture.assert_sound().await;
    fixture.restart().await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn roles_that_may_create_functions_beside_the_service_are_named() {
    let fixture = Fixture::on_postgres().await;
    let found = async || faults(&fixture).await;
    fixture.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
    assert_eq!(found().await, [""; 0]);
    fixture
        .execute(
            "CREATE ROLE beside_the_service; GRANT CREATE ON SCHEMA public TO PUBLIC, beside_the_service",
        )
        .await;
    let [named] = &found().await[..] else { panic!("one fault") };
    assert!(named.ends_with(": PUBLIC in schema public, beside_the_service in schema public"), "{named}");
    fixture
        .execute(
            "REVOKE CREATE ON SCHEMA public FROM PUBLIC, beside_the_service;
            DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO beside_the_service', current_database()); END $$",
        )
        .await;
    let named = found().await;
    assert!(named.len() == 1 && named[0].contains(": beside_the_service in schema "), "{named:?}");
    assert_eq!(faults(&Fixture::on_sqlite().await).await, [""; 0]);
}

/// The faults of the server of the tests itself are left out.
async fn faults(fixture: &Fixture) -> Vec<String> {
    let faults = server_faults(&fixture.store).await.expect("a look");
    faults.into_iter().map(|fault| fault.what).filter(|what| what.contains("schema")).collect()
}

#[tokio::test]
async fn a_server_that_loses_commits_is_named_and_transactions_set_what_they_can() {
    let fixture = Fixture::on_postgres().await;
    let mut connection = fixture.store.connect().await.expect("a connection");
    let setting = "SELECT current_setting('synchronous_commit') AS said, current_setting('fsync') AS fsync";
    for (set, of_transaction) in [
        ("SET synchronous_commit = off", "on"),
        ("SET synchronous_commit = local", "local"),
        ("SET synchronous_commit = remote_apply", "remote_apply"),
    ] {
        connection.execute_all(set).await.expect("a setting");
        let mut tx = Tx::begin(&mut connection).await.expect("a transaction");
        let rows = tx.fetch(sql(setting)).await.expect("an answer");
        tx.rollback().await.expect("an end");
        assert_eq!(rows[0].get::<String>("said").expect("a text"), of_transaction);
    }
    let fsync: String =
        connection.fetch_one(sql(setting)).await.expect("a row").get("fsync").expect("a text");
    let faults = server_faults(&fixture.store).await.expect("a look");
    assert_eq!(faults.iter().any(|fault| fault.what.contains("fsync = off")), fsync == "off", "{faults:?}");
}
