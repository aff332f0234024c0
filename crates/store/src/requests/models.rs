//! The models that requests were ever sent to, by row number.

use overnight_domain::scheduler::ModelKey;

use crate::database::{Value, statements};
use crate::{Store, StoreError};

statements! {
    /// Nodes that start together insert in one order, so that they do not deadlock.
    INSERT over [Text] = {
        sqlite: "INSERT INTO models (name) VALUES (?1) ON CONFLICT (name) DO NOTHING",
        postgres: "INSERT INTO models (name) SELECT v.name FROM pg_catalog.unnest($1::text[]) AS v(name) ORDER BY v.name
            ON CONFLICT (name) DO NOTHING",
    };
    FIND = "SELECT seq FROM models WHERE name = ?";
    LIST = "SELECT seq, name FROM models ORDER BY seq";
}

/// In order; creates missing rows.
pub async fn ensure(store: &Store, names: &[&str]) -> Result<Vec<ModelKey>, StoreError> {
    let mut known = Vec::with_capacity(names.len());
    for name in names {
        known.extend(find(store, name).await?);
    }
    if known.len() == names.len() {
        return Ok(known);
    }
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let ensured = store.transaction(async move |tx| {
        let values = names.iter().map(|name| Value::from(name.as_str())).collect();
        tx.execute(INSERT.over([], values)).await?;
        let mut keys = Vec::with_capacity(names.len());
        for name in names {
            let rows = tx.fetch(FIND.bind(name)).await?;
            keys.push(rows.first().ok_or(StoreError::Damaged("a model"))?.get("seq")?);
        }
        Ok(keys)
    });
    ensured.await
}

/// Every model that is or was configured, and every alias.
pub async fn list(store: &Store) -> Result<Vec<(ModelKey, String)>, StoreError> {
    let rows = store.readers().fetch_all(LIST.unbound()).await?;
    rows.iter().map(|row| Ok((row.get("seq")?, row.get("name")?))).collect()
}

/// Of a model that is or was configured.
pub async fn find(store: &Store, name: &str) -> Result<Option<ModelKey>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(name)).await?;
    row.map(|row| row.get("seq")).transpose()
}
