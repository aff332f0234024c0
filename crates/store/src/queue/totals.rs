//! Queue totals for people who look at the whole service.

use overnight_domain::scheduler::{AccountKey, ModelKey};

use crate::database::{Row, statements};
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountTotal {
    pub account: AccountKey,
    pub waiting: i64,
    pub leased: i64,
    /// The earliest, in milliseconds.
    pub next_deadline: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gathering {
    pub count: i64,
    /// The earliest, in milliseconds.
    pub next_deadline: Option<i64>,
}

statements! {
    OF_MODEL = "SELECT account, sum(CASE WHEN phase = 0 /* waiting */ THEN 1 ELSE 0 END) AS waiting,
            sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE 1 END) AS leased, min(deadline) AS next_deadline
        FROM queue WHERE model = ? GROUP BY account ORDER BY account";
    GATHERING = {
        sqlite: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */",
        postgres: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL",
    };
}

/// Reads the whole queue of the model.
pub async fn of_model(store: &Store, model: ModelKey) -> Result<Vec<AccountTotal>, StoreError> {
    store.readers().fetch_all(OF_MODEL.bind(model)).await?.iter().map(read).collect()
}

/// Gathering requests, which are in no queue yet.
pub async fn gathering(store: &Store) -> Result<Gathering, StoreError> {
    let row = store.readers().fetch_one(GATHERING.unbound()).await?;
    Ok(Gathering { count: row.get("count")?, next_deadline: row.get("next_deadline")? })
}

fn read(row: &Row) -> Result<AccountTotal, StoreError> {
    Ok(AccountTotal {
        account: row.get("account")?,
        waiting: row.get("waiting")?,
        leased: row.get("leased")?,
        next_deadline: row.get("next_deadline")?,
    })
}
