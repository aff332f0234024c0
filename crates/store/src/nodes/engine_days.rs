//! Tokens sent to engines with a daily budget, by day: a sum over all nodes, past and present.

use crate::database::{Tx, statements};
use crate::{Store, StoreError};

/// Days of use that are kept: longer than a clock is likely to be wrong.
const KEPT_DAYS: i64 = 31;

statements! {
    FORGET = "DELETE FROM engine_days WHERE day < ?";
    ADD = "INSERT INTO engine_days (day, name, requests, tokens) VALUES (?, ?, ?, ?)
        ON CONFLICT (day, name) DO UPDATE SET requests = engine_days.requests + excluded.requests,
            tokens = engine_days.tokens + excluded.tokens
        RETURNING requests, tokens";
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineDay {
    /// As in the settings.
    pub name: String,
    /// In days since the Unix epoch.
    pub day: i64,
    pub requests: i64,
    /// Of prompts and completions; negative for a correction.
    pub tokens: i64,
}

/// Returns the sum.
pub async fn add(store: &Store, used: EngineDay) -> Result<EngineDay, StoreError> {
    let forget = FORGET.bind(used.day - KEPT_DAYS);
    let add = ADD.bind(used.day).bind(used.name.as_str()).bind(used.requests).bind(used.tokens);
    let work = async move |tx: &mut Tx<'_>| {
        tx.execute(forget).await?;
        let rows = tx.fetch(add).await?;
        let row = rows.first().ok_or(StoreError::Damaged("a sum of use"))?;
        Ok(EngineDay { requests: row.get("requests")?, tokens: row.get("tokens")?, ..used })
    };
    store.transaction(work).await
}
