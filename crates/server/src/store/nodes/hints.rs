//! Hints to the other nodes that there is something to ask the database for. A hint may be lost, and brings nothing but
//! time: every node asks by itself, each second.

use sqlx::postgres::{PgListener, PgPoolOptions};

use crate::store::database::{Database, Dialect, statements};
use crate::store::{Store, StoreError};

const CHANNEL: &str = "overnight";

statements! {
    GIVE = { postgres: "SELECT 1 FROM pg_notify('overnight', '')" };
}

/// Tells the other nodes, if there are any.
///
/// This is a transaction of its own: a notification in that of a write would make all commits of the database queue up.
pub async fn give(store: &Store) -> Result<(), StoreError> {
    if store.dialect() == Dialect::Postgres {
        store.readers().fetch_all(GIVE.unbound()).await?;
    }
    Ok(())
}

/// Hints of this node and the others.
pub struct Hints(PgListener);

/// Listens for hints; `None` where there are no other nodes, or a pooler keeps no session to listen in.
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
    /// Ends when there is one. A connection that is lost is made anew.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        self.0.recv().await?;
        Ok(())
    }
}
