//! Hints to other nodes to ask the database. A lost hint costs only time: every node also asks each second.

use sqlx::postgres::{PgListener, PgPoolOptions};

use crate::database::{Database, Dialect, statements};
use crate::{Store, StoreError};

const CHANNEL: &str = "overnight";

statements! {
    GIVE = { postgres: "SELECT 1 FROM pg_notify('overnight', '')" };
}

/// Hints to the other nodes, if any.
///
/// In a transaction of its own: a notification in that of a write would queue all commits of the database.
pub async fn give(store: &Store) -> Result<(), StoreError> {
    if store.dialect() == Dialect::Postgres {
        store.readers().fetch_all(GIVE.unbound()).await?;
    }
    Ok(())
}

pub struct Hints(PgListener);

/// `None` if there are no other nodes, or a pooler keeps no session.
pub async fn listen(store: &Store) -> Result<Option<Hints>, StoreError> {
    let Database::Postgres(server) = store.database() else { return Ok(None) };
    if server.is_lent_by_transaction {
        return Ok(None);
    }
    let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(server.options().await?);
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    Ok(Some(Hints(listener)))
}

impl Hints {
    /// Waits for a hint. A lost connection is replaced.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        self.0.recv().await?;
        Ok(())
    }
}
