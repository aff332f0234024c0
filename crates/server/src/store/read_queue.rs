//! Long reads take turns by account: half of the readers serve them, so that sign-in, scheduling and single records always
//! find another one. A statement reads a bounded number of rows, and between two of them the next account has its turn.
//!
//! Long reads take turns by account. Lists, searches and counts use half of the readers (`crates/server/src/store/read_queue.rs`,
//! `crates/base/src/turns.rs`), so sign-in, scheduling and single records find another one. A long read is many statements; each
//! reads a bounded number of rows, and between two of them the next account has its turn. A list with a filter looks at 4,096
//! requests a statement, so a page may be empty and go on. An index of states would make such lists faster and every create, lease
//! and settle slower. A read ends when its caller leaves.

use overnight_base::turns::{Permit, Turns};
use overnight_domain::scheduler::AccountKey;

use crate::store::StoreError;
use crate::store::database::{Readers, ReadsFor, Row, Statement};

/// The turns in which accounts read long.
pub(in crate::store) struct LongReads {
    turns: Turns,
    /// Of an account, the one that adds up what it used.
    sums: Turns,
}

impl LongReads {
    pub(in crate::store) fn over(places: usize) -> Self {
        Self { turns: Turns::over(places), sums: Turns::capped(usize::MAX, 1) }
    }
}

/// Readers for the long reads of an account.
pub(in crate::store) struct LongReaders<'s> {
    pub(in crate::store) readers: &'s Readers,
    pub(in crate::store) reads: &'s LongReads,
    pub(in crate::store) account: AccountKey,
}

impl LongReaders<'_> {
    /// The turn of the account to read long: while it is held, a place for long reads is taken.
    pub(in crate::store) async fn turn(&self) -> Result<Permit, StoreError> {
        self.reads.turns.take(self.account).await.ok_or(StoreError::Stopped)
    }

    /// The turn of the account to add up what it used: while it is held, another such read of the account waits.
    pub(in crate::store) async fn sum_turn(&self) -> Result<Permit, StoreError> {
        self.reads.sums.take(self.account).await.ok_or(StoreError::Stopped)
    }

    /// Every row of a read that adds up what the account used, in its turn: at most one of the account at once, so that its other long
    /// reads, and those of other accounts, find a place.
    pub(in crate::store) async fn fetch_sums(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let _turn = self.sum_turn().await?;
        self.fetch_all(statement).await
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
