//! The schema: one for both databases, and brought up to date without serving.

use std::env;

use crate::database::Kind;
use crate::database::migrations::{self, Migration, Migrations, OURS};
use crate::schema::Schema;
use crate::tests::installations::files;
use crate::tests::prelude::*;
use crate::tests::transfer::Target;

/// Columns of each table, from the database's catalogue.
pub(crate) type Catalogue = BTreeMap<String, BTreeMap<String, Kind>>;

pub(crate) async fn catalogue(fixture: &Fixture) -> Catalogue {
    let columns = match fixture.store.dialect() {
        Dialect::Sqlite => {
            "SELECT t.name AS table_name, c.name AS column_name, c.type AS data_type
             FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'"
        }
        Dialect::Postgres => {
            "SELECT table_name::text, column_name::text, data_type::text
             FROM information_schema.columns NATURAL JOIN information_schema.tables
             WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'"
        }
    };
    let mut connection = fixture.store.connect().await.expect("a connection");
    let mut catalogue = Catalogue::new();
    for row in connection.fetch(sql(columns)).await.expect("the columns") {
        let [table, column, declared]: [String; 3] =
            ["table_name", "column_name", "data_type"].map(|it| row.get(it).expect("a name"));
        let kind = match declared.to_lowercase().as_str() {
            "integer" | "bigint" => Kind::Integer,
            "text" => Kind::Text,
            "blob" | "bytea" => Kind::Bytes,
            _ if table == "schema_version" || table == "sqlite_sequence" => continue,
            other => panic!("{table}.{column} is {other}, which is none of the three kinds there are"),
        };
        catalogue.entry(table).or_default().insert(column, kind);
    }
    catalogue.retain(|table, _| table != "schema_version" && table != "sqlite_sequence");
    catalogue
}

#[tokio::test]
async fn both_databases_have_the_same_tables_with_the_same_columns() {
    let on_sqlite = catalogue(&Fixture::on_sqlite().await).await;
    assert_eq!(on_sqlite, catalogue(&Fixture::on_postgres().await).await);
    assert!(on_sqlite["requests"]["body"] == Kind::Bytes && on_sqlite.len() > 10, "{on_sqlite:?}");
}

#[test]
fn both_databases_have_migrations_of_the_same_names() {
    let names = |database: &str| -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
        let entries = fs::read_dir(folder).expect("the folder of migrations");
        entries.map(|entry| entry.expect("a file").file_name().into_string().expect("a name")).collect()
    };
    let on_sqlite = names("sqlite");
    assert_eq!(on_sqlite, names("postgres"));
    let numbers: Vec<i64> =
        on_sqlite.iter().map(|name| name[..4].parse().expect("a number of four digits")).collect();
    assert_eq!(
        numbers,
        (OURS.first..=migrations::NEWEST).collect::<Vec<_>>(),
        "each is in the list, in order"
    );
}

/// Databases exist that ran them. `UPDATE=1` adds the lines of new files, and changes none. Until 0.1.0 a file is changed under a new number.
#[test]
fn no_migration_changed_since_it_was_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let mut recorded = fs::read_to_string(folder.join("SHA256SUMS")).expect("the list of sums");
    let mut files = BTreeSet::new();
    for database in ["sqlite", "postgres"] {
        for entry in fs::read_dir(folder.join(database)).expect("the folder of migrations") {
            let name = entry.expect("a file").file_name().into_string().expect("a name");
            files.insert(format!("{database}/{name}"));
        }
    }
    for name in &files {
        let sum = Sha256::digest(fs::read(folder.join(name)).expect("a migration"));
        let line = format!("{sum:x}  {name}\n");
        let is_recorded = recorded.lines().any(|line| line.ends_with(&format!("  {name}")));
        if !is_recorded && env::var_os("UPDATE").is_some() {
            recorded.push_str(&line);
            fs::write(folder.join("SHA256SUMS"), &recorded).expect("the list is written");
        }
        assert!(
            recorded.contains(&line),
            "{name} is new (run this test with UPDATE=1) or was changed: {line}"
        );
    }
    assert_eq!(recorded.lines().count(), files.len(), "a recorded migration is gone");
}

on_both!(a_newer_database_is_refused_untouched_by_whoever_opens_it, no audit);
async fn a_newer_database_is_refused_untouched_by_whoever_opens_it(fixture: &mut Fixture) {
    fixture.store.close().await;
    let newer = match fixture.options.server_url {
        None => "PRAGMA user_version = 99",
        Some(_) => "INSERT INTO schema_version (version) VALUES (99)",
    };
    fixture.execute(newer).await;
    let before = catalogue(fixture).await;
    let options = &fixture.options;
    for refused in [
        schema::read(options).await.err(),
        schema::bring_up_to_date(options).await.err(),
        Store::open_beside(options).await.err(),
        Store::open_to_read(options).await.err(),
        Store::open(options, ManualClock::at(START)).await.err(),
    ] {
        assert!(matches!(refused, Some(StoreError::Newer { found: 99, .. })), "{refused:?}");
        assert!(refused.is_some_and(|error| error.to_string().contains("use a newer program")));
    }
    assert_eq!(catalogue(fixture).await, before);
}

on_both!(database_of_an_unreleased_schema_is_refused_untouched_by_whoever_opens_it, no audit);
async fn database_of_an_unreleased_schema_is_refused_untouched_by_whoever_opens_it(fixture: &mut Fixture) {
    fixture.store.close().await;
    let options = &fixture.options;
    for (found, version) in match options.server_url {
        None => [(1, "PRAGMA user_version = 1"), (40, "PRAGMA user_version = 40")],
        Some(_) => {
            [(1, "UPDATE schema_version SET version = 1"), (40, "UPDATE schema_version SET version = 40")]
        }
    } {
        fixture.execute(version).await;
        let before = (files(fixture.folder()), catalogue(fixture).await);
        let mut refused = vec![
            schema::read(options).await.err(),
            schema::bring_up_to_date(options).await.err(),
            Store::open_beside(options).await.err(),
            Store::open_to_read(options).await.err(),
            Store::open(options, ManualClock::at(START)).await.err(),
        ];
        match import(
            options,
            &mut &b"{\"format\":\"overnight-export\",\"version\":1,\"schema\":40}\n"[..],
            START,
        )
        .await
        {
            Err(ImportError::Store(error)) => refused.push(Some(error)),
            other => panic!("{other:?}"),
        }
        for error in refused {
            let told = error.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(matches!(error, Some(StoreError::Unreleased { found: it, .. }) if it == found), "{told}");
            for word in ["before 0.1.0", "schema 40", "`overnight export FILE`", "`overnight import FILE`"] {
                assert!(told.contains(word), "{told}");
            }
        }
        assert!((files(fixture.folder()), catalogue(fixture).await) == before);
    }
}

/// The schema of this program, and what a later program might add to it.
pub(super) const LATER: Migrations =
    Migrations { first: OURS.first, files: &[OURS.files[0], Migration { sqlite: ADDING, postgres: ADDING }] };
const ADDING: &str = "ALTER TABLE requests ADD COLUMN later BIGINT";

#[tokio::test]
async fn a_schema_is_told_and_brought_up_to_date_without_a_service() {
    let (first, newest) = (migrations::NEWEST, LATER.newest());
    for target in [Target::on_sqlite(), Target::on_postgres()] {
        let options = &target.options;
        let told = async || schema::read(options).await.expect("a number");
        let brought = async |to| schema::bring_to(to, options).await.expect("a newer schema");
        assert_eq!(told().await, Schema { found: 0, now: 0, newest: first });
        assert_eq!(fs::read_dir(&options.folder).expect("a folder").count(), 0, "a look makes nothing");
        assert_eq!(brought(&OURS).await, Schema { found: 0, now: first, newest: first });
        assert_eq!(brought(&OURS).await, Schema { found: first, now: first, newest: first });
        assert_eq!(told().await, Schema { found: first, now: first, newest: first });
        assert_eq!(brought(&LATER).await, Schema { found: first, now: newest, newest });
        let refused = schema::bring_up_to_date(options).await.err();
        assert!(matches!(refused, Some(StoreError::Newer { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_served_folders_schema_does_not_change_under_the_service() {
    let target = Target::on_sqlite();
    let options = &target.options;
    schema::bring_up_to_date(options).await.expect("a schema");
    let served = FolderLock::take(&options.folder).expect("a lock");
    let refused = schema::bring_to(&LATER, options).await.err();
    assert!(matches!(refused, Some(StoreError::Locked { .. })), "{refused:?}");
    Store::open_beside(options).await.expect("nothing to do").close().await;
    assert_eq!(schema::read(options).await.expect("a number").now, migrations::NEWEST);
    drop(served);
    assert_eq!(schema::bring_to(&LATER, options).await.expect("a schema").now, LATER.newest());
}
