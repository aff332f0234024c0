//! Sizes of accounts' queues: counted, because a row that every change updates would make all changes wait.

use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::database::{Row, statements};
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// Gathering or waiting, and never leased.
    pub waiting: i64,
    /// Leased, and not ended.
    pub in_progress: i64,
    /// In milliseconds.
    pub oldest_deadline: Option<i64>,
}

statements! {
    LIST_MODELS = "SELECT seq FROM models ORDER BY seq";
    OF_ACCOUNT = "SELECT count(*) - count(in_progress_at) AS waiting, count(in_progress_at) AS in_progress,
               min(deadline) AS oldest_deadline
        FROM queue WHERE model = ? AND account = ?";
    /// Examines all accounts' gathering requests, which gather only briefly; the account's index would pass all its requests ever made.
    GATHERING = {
        sqlite: "SELECT count(*) AS waiting, 0 AS in_progress, min(deadline) AS oldest_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND account + 0 = ?",
        postgres: "SELECT count(*) AS waiting, 0 AS in_progress, min(deadline) AS oldest_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL AND account + 0 = ?",
    };
    OF_MODEL = "SELECT count(*) AS waiting FROM queue WHERE model = ? AND phase = 0 /* waiting */";
}

/// For every model ever configured. Reads all of them: a tenth of a second for some hundred thousand.
pub async fn count(store: &Store, account: AccountKey) -> Result<Live, StoreError> {
    let readers = store.long_readers(account);
    let models = store.readers().fetch_all(LIST_MODELS.unbound()).await?;
    // Gathering first: a request released meanwhile is counted twice rather than never.
    let mut live = read(&readers.fetch_one(GATHERING.bind(account)).await?)?;
    for model in &models {
        let of_model = OF_ACCOUNT.bind(model.get::<ModelKey>("seq")?).bind(account);
        live = live.and(read(&readers.fetch_one(of_model).await?)?);
    }
    Ok(live)
}

/// Of all accounts. Reads all of them.
pub async fn count_waiting(store: &Store, model: ModelKey) -> Result<i64, StoreError> {
    store.readers().fetch_one(OF_MODEL.bind(model)).await?.get("waiting")
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
    Ok(Live {
        waiting: row.get("waiting")?,
        in_progress: row.get("in_progress")?,
        oldest_deadline: row.get("oldest_deadline")?,
    })
}
