//! A transaction that is never half done: its first error poisons it, and its commit then rolls back and reports it.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::database::Dialect;
use crate::database::actor::{Actor, ActorId};
use crate::database::connection::Connection;
use crate::database::postgres::KEYS_ON_POSTGRES;
use crate::database::readers::{Reader, Readers};
use crate::database::row::Row;
use crate::database::sql::statements;
use crate::database::statement::Statement;
use crate::error::StoreError;

/// A transaction that stores its number, so that its outcome can be determined if the answer is lost. PostgreSQL's own number would not do:
/// after a crash it may be given out again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    /// A process has one numbered transaction open at a time.
    pub(crate) node: i64,
    /// Increases.
    pub(crate) number: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Committed,
    RolledBack,
}

/// Why a commit has no reliable answer.
#[derive(Debug)]
pub(crate) enum CommitError {
    NotDone(StoreError),
    /// The connection was lost: [`outcome_of`] determines the outcome once the database answers again.
    Unknown(Numbered, StoreError),
}

impl CommitError {
    /// The database's error; the transaction may or may not be done.
    pub(crate) fn into_inner(self) -> StoreError {
        match self {
            Self::NotDone(error) | Self::Unknown(_, error) => error,
        }
    }
}

/// A write transaction. Dropping it without commit or rollback leaves its connection unusable.
pub(crate) struct Tx<'c> {
    connection: &'c mut Connection,
    numbered: Option<Numbered>,
    poisoned: bool,
    undone: bool,
    actor: Actor,
    #[cfg(test)]
    lives_for: Option<u32>,
}

/// A node that stops mid-transaction must not keep its locks; a wait for a lock is shorter than the age at which peers remove a node. An
/// acknowledged commit is on the disk, even if the role has `synchronous_commit = off`; stricter values stay.
const BEGIN_ON_POSTGRES: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
     SET LOCAL idle_in_transaction_session_timeout = '5s'; SET LOCAL lock_timeout = '3s';
     SELECT pg_catalog.set_config('synchronous_commit', 'on', true) WHERE pg_catalog.current_setting('synchronous_commit') = 'off'";

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
    /// Takes SQLite's lock immediately, so that no later statement can fail for want of it.
    pub(crate) async fn begin(connection: &'c mut Connection) -> Result<Self, StoreError> {
        Self::begin_as(connection, None).await
    }

    /// For a transaction whose outcome may be asked for.
    pub(crate) async fn begin_as(
        connection: &'c mut Connection,
        numbered: Option<Numbered>,
    ) -> Result<Self, StoreError> {
        connection.begin_to_write(numbered).await?;
        Ok(Self::begun(connection, numbered))
    }

    /// For a connection that has begun a transaction already.
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

    /// Sets the actor; the service until then.
    pub(crate) fn act_as(&mut self, actor: Actor) {
        self.actor = actor;
    }

    /// Sets the user who makes the following changes, such as one who signs in.
    pub(crate) fn act_as_user(&mut self, user: i64) {
        self.actor.id = ActorId::User(user);
    }

    pub(crate) const fn actor(&self) -> &Actor {
        &self.actor
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// Returns the number of rows touched.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        #[cfg(test)]
        self.step()?;
        let outcome = self.connection.execute(statement).await;
        self.watch(outcome)
    }

    pub(crate) async fn fetch(&mut self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        #[cfg(test)]
        self.step()?;
        let outcome = self.connection.fetch(statement).await;
        self.watch(outcome)
    }

    /// Rolls back if any statement failed.
    pub(crate) async fn commit(self) -> Result<(), CommitError> {
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
                // It may have been rolled back already.
                let _ = self.connection.execute_all("ROLLBACK").await;
                Err(CommitError::NotDone(error))
            }
        }
    }

    /// The commit will roll back, which is not an error.
    pub(crate) const fn undo(&mut self) {
        self.undone = true;
    }

    pub(crate) async fn rollback(self) -> Result<(), StoreError> {
        self.connection.execute_all("ROLLBACK").await
    }

    /// Commits, unless it failed or is to be undone.
    fn end(self, is_done: bool) -> BoxFuture<'c, Result<(), StoreError>> {
        async move {
            match is_done {
                true if self.undone => self.rollback().await,
                true => self.commit().await.map_err(CommitError::into_inner),
                false => {
                    // If this fails, the connection is lost, and the transaction with it.
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

    /// Fails if a test ends the transaction here.
    #[cfg(test)]
    fn step(&mut self) -> Result<(), StoreError> {
        let dies = self.lives_for == Some(0);
        self.lives_for = self.lives_for.map(|steps| steps.saturating_sub(1));
        self.watch(if dies { Err(StoreError::Refused("the test lets it die here".into())) } else { Ok(()) })
    }
}

#[cfg(test)]
thread_local! {
    /// After how many statements, the commit included, a test's transaction on this thread ends as if a statement failed or the process
    /// were killed; `None` for never.
    pub(crate) static LIVES_FOR: std::cell::Cell<Option<u32>> = const { std::cell::Cell::new(None) };
}

/// Runs `work` in a transaction: all of it, or none if it fails or calls [`Tx::undo`]. This is compiled for each `work`; the code around it
/// is boxed and compiled once.
pub(crate) async fn in_transaction<T>(
    connection: &mut Connection,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let tx = Tx::begin(connection).await?;
    complete(tx, work).await
}

/// On a pooled connection. One that was lost while idle is replaced.
pub(crate) async fn in_pooled_transaction<T>(
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

fn take_to_write(readers: &Readers) -> BoxFuture<'_, Result<Reader, StoreError>> {
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

/// The outcome of a transaction whose commit was not answered. Waits while it is still being committed: its number is locked until then.
pub(crate) async fn outcome_of(
    connection: &mut Connection,
    Numbered { node, number }: Numbered,
) -> Result<Outcome, StoreError> {
    let rows = connection.fetch(LAST_COMMIT.bind(node)).await?;
    let last = rows.first().map(|row| row.get::<i64>("number")).transpose()?;
    Ok(if last == Some(number) { Outcome::Committed } else { Outcome::RolledBack })
}
