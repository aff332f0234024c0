//! Which database the whole suite runs on: SQLite, or PostgreSQL where `OVERNIGHT_TEST_DATABASE` says `postgres`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use overnight_server::store::{Durability, StoreOptions, schema};
use overnight_testkit::postgres::Cluster;

/// How the store of this folder is opened, the same each time.
pub(crate) fn store_options(folder: &Path) -> StoreOptions {
    let server_url = match std::env::var("OVERNIGHT_TEST_DATABASE").as_deref() {
        Ok("postgres") => Some(database_of(folder)),
        Ok(other) => panic!("OVERNIGHT_TEST_DATABASE is {other:?}, and may be \"postgres\""),
        Err(_) => None,
    };
    // The disk of this machine decides nothing.
    let disk_reserve = Some(0);
    StoreOptions {
        server_url,
        durability: Durability::ProcessOnly,
        disk_reserve,
        ..StoreOptions::new(folder)
    }
}

fn database_of(folder: &Path) -> String {
    static MADE: Mutex<Option<HashMap<PathBuf, String>>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let made = made.get_or_insert_default();
    let name = format!("it_{}", made.len());
    let make = || Cluster::shared().database_with_schema(&name, migrate).expect("a database");
    made.entry(folder.to_owned()).or_insert_with(make).clone()
}

/// Makes the schema in a database of a server.
async fn migrate(server_url: String) {
    let folder = tempfile::tempdir().expect("a folder");
    let options = StoreOptions { server_url: Some(server_url), ..StoreOptions::new(folder.path()) };
    schema::bring_up_to_date(&options).await.expect("a schema");
}
