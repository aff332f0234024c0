//! The models that requests were ever sent to, by row number.

use overnight_domain::scheduler::ModelKey;

use super::database::sql;
use super::{Store, StoreError};

/// The key of each name, in order; a new name gets a row.
pub async fn ensure(store: &Store, names: &[&str]) -> Result<Vec<ModelKey>, StoreError> {
    let mut connection = store.connect().await?;
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        let text = "INSERT INTO models (name) VALUES (?) ON CONFLICT (name) DO NOTHING";
        connection.execute(sql(text).bind(*name)).await?;
        let row = connection.fetch_one(sql("SELECT seq FROM models WHERE name = ?").bind(*name)).await?;
        keys.push(ModelKey(row.get(0)?));
    }
    Ok(keys)
}

/// The key of a model that is or was configured.
pub async fn find(store: &Store, name: &str) -> Result<Option<ModelKey>, StoreError> {
    let query = sql("SELECT seq FROM models WHERE name = ?").bind(name);
    let row = store.readers().fetch_optional(query).await?;
    row.map(|row| row.get(0).map(ModelKey)).transpose()
}
