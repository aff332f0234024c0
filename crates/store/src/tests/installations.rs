//! A data folder and its database belong together, and a database of another program is left as it is.

use rusqlite::Connection;

use crate::operations::vacuum::{VacuumError, vacuum};
use crate::tests::prelude::*;
use crate::tests::transfer::exported;
use crate::{INSTALLATION_FILE, KEY_FILE, is_used};

/// Errors of each way to open the store.
async fn refusals(options: &StoreOptions) -> Vec<StoreError> {
    let ways = [
        Store::open(options, ManualClock::at(START)).await.err(),
        Store::open_beside(options).await.err(),
        Store::open_to_read(options).await.err(),
        schema::bring_up_to_date(options).await.err(),
    ];
    ways.into_iter().enumerate().map(|(way, error)| error.unwrap_or_else(|| panic!("way {way}"))).collect()
}

pub(super) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    entries.map(|path| (name(&path), fs::read(&path).expect("a file"))).collect()
}

struct Used {
    folder: TempDir,
    options: StoreOptions,
}

impl Used {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = options(&folder);
        let store = open(&options).await;
        store.close().await;
        drop(store);
        fs::write(folder.path().join(KEY_FILE), "a key").expect("a file");
        let used = Self { folder, options };
        // All of it in one file.
        used.file().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("a checkpoint");
        used
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self) -> Connection {
        Connection::open(self.path(DATABASE_FILE)).expect("a database")
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("a file");
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        files(self.folder.path())
    }
}

#[tokio::test]
async fn a_used_folder_whose_database_is_gone_or_empty_is_refused_and_keeps_its_key() {
    for (has_number, is_empty) in [(true, false), (true, true), (false, false), (false, true)] {
        let used = Used::new().await;
        assert!(is_used(used.folder.path()));
        used.remove(DATABASE_FILE);
        if !has_number {
            used.remove(INSTALLATION_FILE);
        }
        if is_empty {
            fs::write(used.path(DATABASE_FILE), "").expect("a file");
        }
        let before = used.files();
        for refused in refusals(&used.options).await {
            let told = refused.to_string();
            assert!(matches!(refused, StoreError::Lost { .. }), "{refused:?}");
            assert!(told.contains("overnight restore") && told.contains("--data-dir"), "{told}");
        }
        assert_eq!(used.files(), before, "nothing was made");
    }
}

#[tokio::test]
async fn a_used_folder_with_the_database_of_another_is_refused() {
    let (used, other) = (Used::new().await, Used::new().await);
    fs::copy(other.path(DATABASE_FILE), used.path(DATABASE_FILE)).expect("a copy");
    let before = used.files();
    for refused in refusals(&used.options).await {
        assert!(matches!(refused, StoreError::OtherInstallation { .. }), "{refused:?}");
    }
    assert!(used.files() == before);
}

#[tokio::test]
async fn a_folder_that_is_moved_with_its_database_is_served() {
    let elsewhere = tempfile::tempdir().expect("a folder");
    for (name, bytes) in Used::new().await.files() {
        fs::write(elsewhere.path().join(name), bytes).expect("a file");
    }
    open(&options(&elsewhere)).await.close().await;
}

#[tokio::test]
async fn a_folder_without_its_number_gets_it_at_the_next_start() {
    let used = Used::new().await;
    let number = || fs::read(used.path(INSTALLATION_FILE)).ok();
    let noted = number();
    assert!(noted.is_some());
    used.remove(INSTALLATION_FILE);
    Store::open_to_read(&used.options).await.expect("a store to read").close().await;
    assert_eq!(number(), None, "a look does not write it");
    open(&used.options).await.close().await;
    assert_eq!(number(), noted);
}

#[tokio::test]
async fn a_restore_and_an_import_make_a_folder_their_databases() {
    let fixture = Fixture::on_sqlite().await;
    let backups = tempfile::tempdir().expect("a folder");
    let repository = Repository::open_to_write(&backups.path().join("backups")).expect("a repository");
    backup::take(&fixture.store, &repository, START).await.expect("a backup");
    let file = exported(&fixture.store).await;
    for is_import in [false, true] {
        let lost = Used::new().await;
        lost.remove(DATABASE_FILE);
        if is_import {
            import(&lost.options, &mut &file[..], START).await.expect("an import");
        } else {
            restore(&repository, None, &lost.options, OnBreach::Refuse).await.expect("a folder");
        }
        open(&lost.options).await.close().await;
    }
}

/// With the database of another program.
fn foreign(statements: &str) -> (TempDir, StoreOptions) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Connection::open(folder.path().join(DATABASE_FILE)).expect("a database");
    file.execute_batch(statements).expect("its schema");
    file.close().expect("an end");
    let options = options(&folder);
    (folder, options)
}

#[tokio::test]
async fn the_file_of_another_program_is_refused_without_a_byte_written() {
    let cases = [
        ("PRAGMA application_id = 1196444487;", "application_id 1196444487"),
        ("CREATE TABLE notes (id INTEGER);", "its table `notes`"),
        ("PRAGMA journal_mode = wal; CREATE TABLE notes (id INTEGER);", "its table `notes`"),
        ("CREATE TABLE requests (id INTEGER, url TEXT); PRAGMA user_version = 3;", "its table `requests`"),
        ("PRAGMA user_version = 3;", "its schema 3"),
    ];
    for (statements, told) in cases {
        let (folder, options) = foreign(statements);
        let before = files(folder.path());
        assert_eq!(before.keys().collect::<Vec<_>>(), [DATABASE_FILE]);
        let mut refused = refusals(&options).await;
        refused.extend(schema::read(&options).await.err());
        match vacuum(&options).await {
            Err(VacuumError::Store(error)) => refused.push(error),
            other => panic!("{other:?}"),
        }
        assert_eq!(refused.len(), 6);
        for error in refused {
            let StoreError::Foreign { found, .. } = &error else { panic!("{statements}: {error:?}") };
            assert!(found.contains(told), "{error}");
        }
        assert!(files(folder.path()) == before, "{statements}: {:?}", files(folder.path()).keys());
    }
}

#[tokio::test]
async fn a_file_of_another_program_that_has_it_open_is_refused() {
    let (folder, options) = foreign("PRAGMA journal_mode = wal; CREATE TABLE notes (id INTEGER);");
    let path = folder.path().join(DATABASE_FILE);
    let open = Connection::open(&path).expect("a database");
    open.execute_batch("INSERT INTO notes VALUES (7)").expect("a row in the log");
    let before = (fs::read(&path).expect("a file"), fs::read(path.with_extension("db-wal")).expect("a log"));
    for error in refusals(&options).await {
        assert!(matches!(error, StoreError::Foreign { .. }), "{error:?}");
    }
    assert!((fs::read(&path).unwrap(), fs::read(path.with_extension("db-wal")).unwrap()) == before);
}

#[tokio::test]
async fn tables_of_another_program_with_our_names_are_refused_on_postgresql_and_others_are_no_obstacle() {
    let taken = ["CREATE TABLE requests (id BIGINT)", "CREATE VIEW price_points AS SELECT 1 AS one"];
    let versioned = [
        "CREATE TABLE schema_version (installed_rank INT, version TEXT)",
        "CREATE TABLE schema_version (version BIGINT, applied_at TIMESTAMPTZ); INSERT INTO schema_version VALUES (3, now())",
    ];
    for (number, statements) in taken.iter().chain(&versioned).enumerate() {
        let name = format!("foreign_{number}");
        let server_url = Cluster::shared().database(&name).expect("a database");
        Cluster::shared().execute(&name, statements).expect("a table");
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions { server_url: Some(server_url), ..options(&folder) };
        for error in refusals(&options).await {
            let told = error.to_string();
            assert!(matches!(error, StoreError::Foreign { .. }), "{statements}: {told}");
            assert!(told.contains("database_url"), "{told}");
        }
        let made = "SELECT 1 / (CASE WHEN to_regclass('accounts') IS NULL THEN 1 ELSE 0 END)";
        Cluster::shared().execute(&name, made).expect("no table of ours");
    }
    let server_url = Cluster::shared().database("beside_others").expect("a database");
    let others = "CREATE SCHEMA ours; ALTER DATABASE beside_others SET search_path = ours, public;
        CREATE TABLE schema_version (installed_rank INT, version TEXT); CREATE TABLE ours.invoices (id BIGINT); CREATE SCHEMA other; CREATE TABLE other.requests (id BIGINT)";
    Cluster::shared().execute("beside_others", others).expect("tables");
    let folder = tempfile::tempdir().expect("a folder");
    open(&StoreOptions { server_url: Some(server_url), ..options(&folder) }).await.close().await;
}

#[tokio::test]
async fn a_new_folder_joins_a_postgresql_and_a_used_one_joins_no_other() {
    let (fixture, other) = (Fixture::on_postgres().await, Fixture::on_postgres().await);
    let (node, folder) = fixture.node().await;
    node.close().await;
    let joined = |server_url| StoreOptions { server_url, ..options(&folder) };
    open(&joined(fixture.options.server_url.clone())).await.close().await;
    let empty = Cluster::shared().database("joined_empty").expect("a database");
    for (server_url, is_lost) in [(other.options.server_url.clone(), false), (Some(empty), true)] {
        let refused = Store::open(&joined(server_url), ManualClock::at(START)).await.err();
        match refused {
            Some(StoreError::OtherInstallation { .. }) => assert!(!is_lost),
            Some(StoreError::Lost { .. }) => assert!(is_lost),
            other => panic!("{other:?}"),
        }
    }
    let beside = Store::open_beside(&joined(other.options.server_url.clone())).await;
    beside.expect("commands use nothing of the folder").close().await;
}

#[tokio::test]
async fn a_database_of_an_early_schema_is_refused_without_a_byte_written() {
    let (folder, options) = foreign(
        "CREATE TABLE requests (seq INTEGER, id, account, model, created_at, expires_at, body);
         CREATE TABLE settings (name, value); PRAGMA user_version = 1;",
    );
    let before = files(folder.path());
    for refused in refusals(&options).await {
        assert!(matches!(refused, StoreError::Unreleased { found: 1, .. }), "{refused:?}");
    }
    assert!(files(folder.path()) == before, "{:?}", files(folder.path()).keys());
}

#[tokio::test]
async fn closed_store_leaves_nothing_in_its_log() {
    let mut fixture = Fixture::on_sqlite().await;
    fixture.insert(&[1, 2, 3]).await;
    // A connection that reads is the last to be closed.
    let path = fixture.folder().join(DATABASE_FILE);
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = Connection::open_with_flags(&path, flags).expect("a database");
    reader.query_row("SELECT count(*) FROM requests", [], |row| row.get::<_, i64>(0)).expect("a count");
    fixture.store.close().await;
    let log = fs::metadata(path.with_extension("db-wal")).map_or(0, |log| log.len());
    assert_eq!(log, 0);
    drop(reader);
}

#[tokio::test]
async fn database_whose_encoding_lacks_characters_is_refused() {
    let of_utf8 = Cluster::shared().database("of_utf8").expect("a database");
    let create = "CREATE DATABASE of_latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    Cluster::shared().execute("of_utf8", create).expect("a database");
    let server_url = Some(of_utf8.replace("of_utf8", "of_latin1"));
    let folder = tempfile::tempdir().expect("a folder");
    for error in refusals(&StoreOptions { server_url, ..options(&folder) }).await {
        assert!(matches!(&error, StoreError::Encoding(found) if found == "LATIN1"), "{error}");
    }
}
