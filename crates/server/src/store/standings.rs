//! How much of the queue is whose: counted, since a row that every change had to move would be one that everybody waits for.

use overnight_domain::scheduler::{AccountKey, ModelKey};

use super::database::{Row, Statement, sql, sql_each};
use super::{Store, StoreError};

/// What lives of an account's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// How many gather or wait, and were never leased.
    pub waiting: i64,
    /// How many were leased, and have not ended.
    pub in_progress: i64,
    /// The earliest deadline of any of them, in milliseconds.
    pub oldest_deadline: Option<i64>,
}

/// A stretch of the queue's key.
pub(super) const OF_ACCOUNT: &str =
    "SELECT count(*) - count(in_progress_at), count(in_progress_at), min(deadline) FROM queue
     WHERE model = ? AND account = ?";

/// What gathers of all accounts is looked at, a little while's requests; by the index of the account, all that it ever had
/// would be.
pub(super) const GATHERING: (&str, &str) = (
    "SELECT count(*), CAST(0 AS BIGINT), min(deadline) FROM progress WHERE state = 0 AND account + 0 = ?",
    "SELECT count(*), CAST(0 AS BIGINT), min(deadline) FROM progress
     WHERE state = 0 AND ready_at IS NOT NULL AND account + 0 = ?",
);

pub(super) const OF_MODEL: &str = "SELECT count(*) FROM queue WHERE model = ? AND phase = 0";

/// What lives of an account's requests, of every model that was ever configured. Goes through all of it: a tenth of a second
/// for some hundred thousand.
pub async fn count(store: &Store, account: AccountKey) -> Result<Live, StoreError> {
    let readers = store.readers();
    let models = readers.fetch_all(sql("SELECT seq FROM models ORDER BY seq")).await?;
    // First what gathers: what is released meanwhile is counted twice rather than never.
    let mut live = read(&readers.fetch_one(gathering(account)).await?)?;
    for model in &models {
        live = live.and(read(&readers.fetch_one(of_account(ModelKey(model.get(0)?), account)).await?)?);
    }
    Ok(live)
}

/// How many requests of all accounts wait in the queue for a model. Goes through all that name it.
pub async fn count_waiting(store: &Store, model: ModelKey) -> Result<i64, StoreError> {
    store.readers().fetch_one(of_model(model)).await?.get(0)
}

pub(super) fn gathering(account: AccountKey) -> Statement {
    sql_each(GATHERING.0, GATHERING.1).bind(account.0)
}

pub(super) fn of_account(model: ModelKey, account: AccountKey) -> Statement {
    sql(OF_ACCOUNT).bind(model.0).bind(account.0)
}

pub(super) fn of_model(model: ModelKey) -> Statement {
    sql(OF_MODEL).bind(model.0)
}

impl Live {
    fn and(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            in_progress: self.in_progress + other.in_progress,
            oldest_deadline: [self.oldest_deadline, other.oldest_deadline].into_iter().flatten().min(),
        }
    }
}

/// Reads `waiting, in_progress, oldest_deadline`.
fn read(row: &Row) -> Result<Live, StoreError> {
    Ok(Live { waiting: row.get(0)?, in_progress: row.get(1)?, oldest_deadline: row.get(2)? })
}
