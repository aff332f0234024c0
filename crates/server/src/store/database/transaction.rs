//! A transaction that cannot be half right: its first error poisons it, and its commit then rolls back and says so.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::store::database::Dialect;
use crate::store::database::actor::{Actor, ActorId};
use crate::store::database::connection::Connection;
use crate::store::database::postgres::KEYS_ON_POSTGRES;
use crate::store::database::readers::{Reader, Readers};
use crate::store::database::row::Row;
use crate::store::database::sql::statements;
use crate::store::database::statement::Statement;
use crate::store::error::StoreError;

/// A transaction that leaves its number behind, so that it can be told whether it was committed when the answer is lost.
/// PostgreSQL's own number would not do: one that was given out before a crash is given out again after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Numbered {
    /// The process, one transaction of which is open at a time.
    pub(in crate::store) node: i64,
    /// Rises with each.
    pub(in crate::store) number: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Outcome {
    Committed,
    RolledBack,
}

/// Why a commit brought no answer that can be believed.
#[derive(Debug)]
pub(in crate::store) enum CommitError {
    NotDone(StoreError),
    /// The connection was lost on the way: [`outcome_of`] tells, once the database answers again.
    Unknown(Numbered, StoreError),
}

impl CommitError {
    /// What the database said, of a transaction that may have been done or not.
    pub(in crate::store) fn into_inner(self) -> StoreError {
        match self {
            Self::NotDone(error) | Self::Unknown(_, error) => error,
        }
    }
}

/// An open write transaction. What is neither committed nor rolled back leaves its connection unusable.
pub(in crate::store) struct Tx<'c> {
    connection: &'c mut Connection,
    numbered: Option<Numbered>,
    poisoned: bool,
    undone: bool,
    actor: Actor,
    #[cfg(test)]
    lives_for: Option<u32>,
}

/// A node that stops in the middle of a transaction must not keep its locks, and a wait for a lock is shorter than the age at
/// which peers remove a node.
const BEGIN_ON_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
     SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '3s'";

impl Connection {
    fn begin_to_write(&mut self, numbered: Option<Numbered>) -> BoxFuture<'_, Result<(), StoreError>> {
        async move {
            let Self::Postgres(connection) = self else { return self.execute_all("BEGIN IMMEDIATE").await };
            let note = numbered.map(|Numbered { node, number }| {
                format!("UPDATE commit_markers SET number = {number} WHERE node = {node}")
            });
            let text = [BEGIN_ON_POSTGRES, KEYS_ON_POSTGRES, note.as_deref().unwrap_or_default()];
            connection.run(&text.join(";")).await
        }
        .boxed()
    }
}

impl<'c> Tx<'c> {
    /// Begins to write. SQLite's lock is taken at once, so that no later statement can fail for want of it.
    pub(in crate::store) async fn begin(connection: &'c mut Connection) -> Result<Self, StoreError> {
        Self::begin_as(connection, None).await
    }

    /// The same for one whose outcome may be asked for.
    pub(in crate::store) async fn begin_as(
        connection: &'c mut Connection,
        numbered: Option<Numbered>,
    ) -> Result<Self, StoreError> {
        connection.begin_to_write(numbered).await?;
        Ok(Self::begun(connection, numbered))
    }

    /// A transaction that the connection has begun already.
    fn begun(connection: &'c mut Connection, numbered: Option<Numbered>) -> Self {
        Self {
            connection,
            numbered,
            poisoned: false,
            undone: false,
            actor: Actor { id: ActorId::Service, address: None },
            #[cfg(test)]
            lives_for: None,
        }
    }

    /// Says whose changes these are; the service's own until then.
    pub(in crate::store) fn act_as(&mut self, actor: Actor) {
        self.actor = actor;
    }

    /// Says that a user makes what is changed from here on, such as one who signs in.
    pub(in crate::store) fn act_as_user(&mut self, user: i64) {
        self.actor.id = ActorId::User(user);
    }

    pub(in crate::store) const fn actor(&self) -> &Actor {
        &self.actor
    }

    pub(in crate::store) const fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// Runs a statement; the number of rows it touched.
    pub(in crate::store) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        #[cfg(test)]
        self.step()?;
        let outcome = self.connection.execute(statement).await;
        self.watch(outcome)
    }

    /// Runs a statement; the rows it returned.
    pub(in crate::store) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        #[cfg(test)]
        self.step()?;
        let outcome = self.connection.fetch(statement).await;
        self.watch(outcome)
    }

    /// Makes it durable, or rolls it back where any statement failed.
    pub(in crate::store) async fn commit(self) -> Result<(), CommitError> {
        let is_lost = self.poisoned;
        #[cfg(test)]
        let is_lost = is_lost || self.lives_for == Some(0);
        if is_lost {
            self.connection.execute_all("ROLLBACK").await.map_err(CommitError::NotDone)?;
            let why = "a statement of the transaction had failed";
            return Err(CommitError::NotDone(StoreError::Refused(why.into())));
        }
        match (self.connection.execute_all("COMMIT").await, self.numbered) {
            (Ok(()), _) => Ok(()),
            (Err(error), Some(numbered)) if error.is_connection_lost() => {
                Err(CommitError::Unknown(numbered, error))
            }
            (Err(error), _) => {
                // It may have been rolled back already, which is all that this is for.
                let _ = self.connection.execute_all("ROLLBACK").await;
                Err(CommitError::NotDone(error))
            }
        }
    }

    /// Nothing of it is to be done, and that is no error: it is rolled back where it would be committed.
    pub(in crate::store) const fn undo(&mut self) {
        self.undone = true;
    }

    pub(in crate::store) async fn rollback(self) -> Result<(), StoreError> {
        self.connection.execute_all("ROLLBACK").await
    }

    /// Makes what was done durable, unless it is to be undone; undoes what failed.
    fn end(self, is_done: bool) -> BoxFuture<'c, Result<(), StoreError>> {
        async move {
            match is_done {
                true if self.undone => self.rollback().await,
                true => self.commit().await.map_err(CommitError::into_inner),
                false => {
                    // Where this fails the connection is lost, and the transaction with it.
                    let _ = self.rollback().await;
                    Ok(())
                }
            }
        }
        .boxed()
    }

    fn watch<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        self.poisoned |= outcome.is_err();
        outcome
    }

    /// Fails where a test lets it die.
    #[cfg(test)]
    fn step(&mut self) -> Result<(), StoreError> {
        let dies = self.lives_for == Some(0);
        self.lives_for = self.lives_for.map(|steps| steps.saturating_sub(1));
        self.watch(if dies { Err(StoreError::Refused("the test lets it die here".into())) } else { Ok(()) })
    }
}

#[cfg(test)]
thread_local! {
    /// For how many statements each transaction lives that a test asks for on this thread, its commit counted as one: then it
    /// ends as if a statement failed, or the process were killed. `None` is for ever.
    pub(in crate::store) static LIVES_FOR: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
}

/// Does `work` in one transaction: all of it, or nothing where it fails or says [`Tx::undo`]. This is compiled for each `work`,
/// and what comes before and after it, which is boxed, once.
pub(in crate::store) async fn in_transaction<T>(
    connection: &mut Connection,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = Tx::begin(connection).await?;
    complete(tx, work).await
}

/// The same on a connection of a pool. One that was lost while it lay idle is replaced by a new one.
pub(in crate::store) async fn in_pooled_transaction<T>(
    readers: &Readers,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut connection = take_to_write(readers).await?;
    let outcome = complete(Tx::begun(&mut connection, None), work).await;
    if !outcome.as_ref().is_err_and(StoreError::is_connection_lost) {
        connection.give_back();
    }
    outcome
}

fn take_to_write(readers: &Readers) -> BoxFuture<'_, Result<Reader<'_>, StoreError>> {
    async {
        let mut connection = readers.take().await?;
        match connection.begin_to_write(None).await {
            Err(error) if error.is_connection_lost() => {
                connection.replace().await?;
                connection.begin_to_write(None).await?;
            }
            begun => begun?,
        }
        Ok(connection)
    }
    .boxed()
}

async fn complete<T>(
    mut tx: Tx<'_>,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    #[cfg(test)]
    {
        tx.lives_for = LIVES_FOR.get();
    }
    let outcome = work(&mut tx).await;
    tx.end(outcome.is_ok()).await?;
    outcome
}

statements! {
    LAST_COMMIT = { postgres: "SELECT number FROM commit_markers WHERE node = ? FOR UPDATE" };
}

/// What became of a transaction whose commit was not answered. Waits while it is still being committed: its number is
/// locked until then.
pub(in crate::store) async fn outcome_of(
    connection: &mut Connection,
    Numbered { node, number }: Numbered,
) -> Result<Outcome, StoreError> {
    let rows = connection.fetch(LAST_COMMIT.bind(node)).await?;
    let last = rows.first().map(|row| row.get::<i64>("number")).transpose()?;
    Ok(if last == Some(number) { Outcome::Committed } else { Outcome::RolledBack })
}
