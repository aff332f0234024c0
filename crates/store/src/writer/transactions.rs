//! Transactions outside groups: the writer's thread does each between groups.

use std::pin::Pin;

use tokio::sync::oneshot;

use crate::StoreError;
#[cfg(test)]
use crate::database::LIVES_FOR;
use crate::database::{Connection, Tx, end_process, in_transaction};
use crate::writer::Writer;

type Work = dyn for<'c> FnOnce(&'c mut Connection) -> Pin<Box<dyn Future<Output = ()> + 'c>> + Send;

/// A waiting transaction, or emptying of the log.
pub(super) struct Transaction(pub(super) Box<Work>);

impl Transaction {
    pub(super) async fn run(self, connection: &mut Connection) {
        (self.0)(connection).await;
    }
}

impl Writer {
    pub(crate) fn takes_transactions(&self) -> bool {
        self.queues.takes_transactions()
    }

    /// Runs `work` in its own transaction. Once queued, it is done even if the caller leaves. As in a group, an I/O error ends the process.
    pub(crate) async fn transact<T: Send + 'static>(
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

    /// Empties the log between two groups, while only the writer's connection writes to it; returns whether it did.
    pub(crate) async fn truncate_log(&self) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queues.push_transaction(Transaction(Box::new(move |connection| {
            Box::pin(async move {
                let _ = reply.send(connection.truncate_log().await);
            })
        })))?;
        answer.await.unwrap_or_else(|_| Err(self.dropped()))
    }

    /// A writer that refuses writes drops waiting transactions; otherwise it ended, or the transaction panicked.
    fn dropped(&self) -> StoreError {
        match self.refusing() {
            Some(why) => StoreError::Unavailable(why),
            None if self.queues.is_closed() => StoreError::Stopped,
            None => StoreError::Refused("the transaction panicked".to_owned()),
        }
    }
}
