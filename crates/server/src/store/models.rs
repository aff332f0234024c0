//! The models that requests were ever sent to, by row number.

use overnight_domain::scheduler::ModelKey;
use sqlx::Row;

use super::{Store, StoreError};

/// The key of each name, in order; a new name gets a row.
pub async fn ensure(store: &Store, names: &[&str]) -> Result<Vec<ModelKey>, StoreError> {
    let mut connection = store.connect().await?;
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        let text = "INSERT INTO models (name) VALUES (?) ON CONFLICT (name) DO NOTHING";
        sqlx::query(text).bind(*name).execute(&mut connection).await?;
        let row = sqlx::query("SELECT seq FROM models WHERE name = ?")
            .bind(*name)
            .fetch_one(&mut connection)
            .await?;
        keys.push(ModelKey(row.try_get(0)?));
    }
    Ok(keys)
}

/// The key of a model that is or was configured.
pub async fn find(store: &Store, name: &str) -> Result<Option<ModelKey>, StoreError> {
    let query = sqlx::query("SELECT seq FROM models WHERE name = ?").bind(name);
    let row = store.readers().fetch_optional(query).await?;
    Ok(row.map(|row| row.try_get(0).map(ModelKey)).transpose()?)
}
