//! Long reads take turns by account. Lists, searches and counts use half of the readers (`crates/base/src/turns.rs`), so that sign-in,
//! scheduling and single records find another one. A long read is many statements; each reads a bounded number of rows, and between two of
//! them the next account has its turn. A list with a filter examines 1,024 requests per statement, so a page may be empty without being the
//! last; it skips blocks without a match (`request_blocks.rs`). A read ends when its caller leaves, with the statement under way.

use overnight_base::turns::{Permit, Turns};
use overnight_domain::scheduler::AccountKey;

use crate::StoreError;
use crate::database::{Readers, Row, Statement};

pub(crate) struct LongReads {
    turns: Turns,
    /// One sum per account.
    sums: Turns,
}

impl LongReads {
    pub(crate) fn over(places: usize) -> Self {
        Self { turns: Turns::over(places), sums: Turns::capped(usize::MAX, 1) }
    }
}

pub(crate) struct LongReaders<'s> {
    pub(crate) readers: &'s Readers,
    pub(crate) reads: &'s LongReads,
    pub(crate) account: AccountKey,
}

impl LongReaders<'_> {
    /// The account's turn; it occupies a place for long reads.
    pub(crate) async fn turn(&self) -> Result<Permit, StoreError> {
        self.reads.turns.take(self.account).await.ok_or(StoreError::Stopped)
    }

    /// The account's turn for sums; another waits.
    pub(crate) async fn sum_turn(&self) -> Result<Permit, StoreError> {
        self.reads.sums.take(self.account).await.ok_or(StoreError::Stopped)
    }

    /// Reads sums of an account's usage, or of a whole batch: at most one at a time, so that its other long reads, and those of other
    /// accounts, find a place.
    pub(crate) async fn fetch_sums(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let _turn = self.sum_turn().await?;
        self.fetch_all(statement).await
    }

    /// In the account's turn.
    pub(crate) async fn fetch_all(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        let turn = self.turn().await?;
        self.readers.fetch_in_turn(statement, turn).await
    }

    /// In the account's turn.
    pub(crate) async fn fetch_optional(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Of a read that always has a row, in the account's turn.
    pub(crate) async fn fetch_one(&self, statement: Statement) -> Result<Row, StoreError> {
        self.fetch_optional(statement).await?.ok_or(StoreError::Damaged("a required row is missing"))
    }
}
