//! The database of the whole suite: SQLite, or PostgreSQL if `OVERNIGHT_TEST_DATABASE` is `postgres`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use overnight_store::{DATABASE_FILE, Durability, StoreOptions, schema};
use overnight_testkit::postgres::Cluster;
use overnight_testkit::schema::put_file;

/// The same options for a folder each time.
pub(crate) fn store_options(folder: &Path) -> StoreOptions {
    let server_url = match std::env::var("OVERNIGHT_TEST_DATABASE").as_deref() {
        Ok("postgres") => Some(database_of(folder)),
        Ok(other) => panic!("OVERNIGHT_TEST_DATABASE is {other:?}, and may be \"postgres\""),
        Err(_) => {
            let migrate = async |folder| migrate(StoreOptions::new(folder)).await;
            put_file(folder, DATABASE_FILE, migrate).expect("a copy");
            None
        }
    };
    // The free space of this machine's disk must not matter.
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
    let migrate =
        async |url| migrate(StoreOptions { server_url: Some(url), ..StoreOptions::new(folder) }).await;
    let make = || Cluster::shared().database_with_schema(&name, migrate).expect("a database");
    made.entry(folder.to_owned()).or_insert_with(make).clone()
}

async fn migrate(options: StoreOptions) {
    schema::bring_up_to_date(&options).await.expect("a schema");
}
