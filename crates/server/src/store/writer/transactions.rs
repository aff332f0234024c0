//! Transactions that no group takes in: each is done by itself, on the writer's thread, between groups.

use std::pin::Pin;

use tokio::sync::oneshot;

use crate::store::StoreError;
#[cfg(test)]
use crate::store::database::LIVES_FOR;
use crate::store::database::{Connection, Tx, end_process, in_transaction};
use crate::store::writer::Writer;

type Work = dyn for<'c> FnOnce(&'c mut Connection) -> Pin<Box<dyn Future<Output = ()> + 'c>> + Send;

/// A transaction, or the emptying of the log, that waits for its turn.
pub(super) struct Transaction(pub(super) Box<Work>);

impl Transaction {
    /// Does it, and answers who asked for it.
    pub(super) async fn run(self, connection: &mut Connection) {
        (self.0)(connection).await;
    }
}

impl Writer {
    /// Whether transactions are done by the writer, and not beside it.
    pub(in crate::store) fn takes_transactions(&self) -> bool {
        self.queues.takes_transactions()
    }

    /// Has `work` done in a transaction of its own. Once in line it is done even if the asker leaves. As in a group, an I/O
    /// error ends the process.
    pub(in crate::store) async fn transact<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        #[cfg(test)]
        let lives_for = LIVES_FOR.get();
        self.queues.push_transaction(Transaction(Box::new(move |connection| {
            Box::pin(async move {
                #[cfg(test)]
                LIVES_FOR.set(lives_for);
                let outcome = in_transaction(connection, work).await;
                if let Err(error) = &outcome
                    && error.is_disk_failure()
                {
                    end_process(error);
                }
                let _ = reply.send(outcome);
            })
        })))?;
        answer.await.unwrap_or_else(|_| Err(self.dropped()))
    }

    /// Has the log of the file emptied between two groups, where no connection but the writer's writes to it; whether it was.
    pub(in crate::store) async fn truncate_log(&self) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queues.push_transaction(Transaction(Box::new(move |connection| {
            Box::pin(async move {
                let _ = reply.send(connection.truncate_log().await);
            })
        })))?;
        answer.await.unwrap_or_else(|_| Err(self.dropped()))
    }

    /// A writer that refuses writes drops what waits; otherwise it ended, or the transaction panicked.
    fn dropped(&self) -> StoreError {
        match self.refusing() {
            Some(why) => StoreError::Unavailable(why),
            None if self.queues.is_closed() => StoreError::Stopped,
            None => StoreError::Refused("the transaction panicked".to_owned()),
        }
    }
}
