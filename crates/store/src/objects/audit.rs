//! Whether the objects that the database names exist.

use std::collections::HashMap;

use super::owner;
use crate::database::statements;
use crate::object_store::{ObjectName, PROBE};
use crate::{Store, StoreError};

/// Rows per page.
const ROWS: i64 = 4_096;

statements! {
    PAGE = "SELECT name, account, bytes, state = 1 /* in use */ AS is_used FROM objects WHERE name > ? ORDER BY name LIMIT ?";
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Present {
    pub used: i64,
    pub missing: i64,
    /// Present, with another length than was put.
    pub damaged: i64,
    /// Present, but not named.
    pub unnamed: i64,
}

/// Lists the object store, and compares it with the objects in use. It reads no content. Fails if the object store is not configured, does
/// not answer, or is not this database's.
pub async fn audit(store: &Store) -> Result<Present, StoreError> {
    let object_store = store.objects().store()?;
    owner::is_owned(store, PROBE).await?;
    // Listed objects were named before their put; objects in use that are not listed may have been put since.
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
