//! Long reads take turns by account: half of the readers serve them, so that sign-in, scheduling and single records always
//! find another one. A statement reads a bounded number of rows, and between two of them the next account has its turn.

use overnight_domain::scheduler::AccountKey;

use crate::store::StoreError;
use crate::store::database::{Readers, ReadsFor, Row, Statement};
use crate::turns::{Permit, Turns};

/// Readers for the long reads of an account.
pub(in crate::store) struct LongReaders<'s> {
    pub(in crate::store) readers: &'s Readers,
    pub(in crate::store) turns: &'s Turns,
    pub(in crate::store) account: AccountKey,
}

impl LongReaders<'_> {
    async fn turn(&self) -> Result<Permit, StoreError> {
        self.turns.take(self.account).await.ok_or(StoreError::Stopped)
    }

    /// Every row of a read, in its turn.
    pub(in crate::store) async fn fetch_all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let _permit = self.turn().await?;
        ReadsFor::Service.scope(self.readers.fetch_all(statement)).await
    }

    /// The first row of a read, if it has one, in its turn.
    pub(in crate::store) async fn fetch_optional(
        &self,
        statement: Statement,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// The first row of a read that always has one, in its turn.
    pub(in crate::store) async fn fetch_one(&self, statement: Statement) -> Result<Row, StoreError> {
        let _permit = self.turn().await?;
        ReadsFor::Service.scope(self.readers.fetch_one(statement)).await
    }
}
