//! Whether the objects that the database names are there.

use std::collections::HashMap;

use super::owner;
use crate::object_store::{ObjectName, PROBE};
use crate::store::database::statements;
use crate::store::{Store, StoreError};

/// Rows of a page.
const ROWS: i64 = 4_096;

statements! {
    PAGE = "SELECT name, account, bytes, state = 1 /* in use */ AS is_used FROM objects WHERE name > ? ORDER BY name LIMIT ?";
}

/// What the object store has of what the database names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Present {
    pub used: i64,
    /// Those of them that are not there.
    pub missing: i64,
    /// Those of them that are there, and not as long as they were put.
    pub damaged: i64,
    /// Objects there that the database does not name.
    pub unnamed: i64,
}

/// Lists the object store, and compares what is there with what is in use. It reads no content.
///
/// # Errors
/// Also where the object store is not named, does not answer, or is not this database's.
pub async fn audit(store: &Store) -> Result<Present, StoreError> {
    let object_store = store.objects().store()?;
    owner::is_owned(store, PROBE).await?;
    // What is listed was named before it was put; what is in use and not listed may have been put since.
    let mut listed = object_store.list_all().await?;
    let (mut present, mut last) = (Present::default(), Vec::new());
    loop {
        let rows = store.readers().fetch_all(PAGE.bind(last).bind(ROWS)).await?;
        for row in &rows {
            let bits = row.get::<&[u8]>("name")?.try_into().map_err(|_| StoreError::DamagedColumn("name"))?;
            let name = ObjectName { account: row.get("account")?, bits };
            let found = listed.remove(&name);
            if !row.get::<bool>("is_used")? {
                continue;
            }
            present.used += 1;
            let found = match found {
                None => object_store.length(&name).await?,
                found => found,
            };
            match found {
                None => present.missing += 1,
                Some(bytes) if i64::try_from(bytes) != Ok(row.get("bytes")?) => present.damaged += 1,
                Some(_) => {}
            }
        }
        last = match rows.last() {
            Some(row) if rows.len() as i64 == ROWS => row.get("name")?,
            _ => break,
        };
    }
    present.unnamed = count(&listed);
    Ok(present)
}

fn count(listed: &HashMap<ObjectName, u64>) -> i64 {
    i64::try_from(listed.len()).unwrap_or(i64::MAX)
}
