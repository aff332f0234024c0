//! Failed sign-ins in a row, so that guessing takes longer each time. Each is counted before it is known to have failed, so
//! that many at once are no way around it.

use super::sql::{Tx, sql};
use super::{Store, StoreError};

/// Failed sign-ins in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failures {
    /// How many.
    pub count: i64,
    /// When the last was, in milliseconds.
    pub last_at: i64,
}

/// Counts a try for each of `subjects`, if `may_try` says so of what is known of each; whether it did. What is older than
/// `forgotten_before` is forgotten.
pub async fn count(
    store: &Store,
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    may_try: impl Fn(Failures) -> bool,
) -> Result<bool, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let counted = count_in(subjects, now, forgotten_before, may_try, &mut tx).await;
    tx.conclude(counted, |is_counted| *is_counted).await
}

async fn count_in(
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    may_try: impl Fn(Failures) -> bool,
    tx: &mut Tx<'_>,
) -> Result<bool, StoreError> {
    tx.execute(sql("DELETE FROM sign_in_failures WHERE last_at < ?").bind(forgotten_before)).await?;
    // In one order, so that two tries do not wait for each other.
    let mut subjects = subjects.to_vec();
    subjects.sort_unstable();
    for subject in subjects {
        let text = "INSERT INTO sign_in_failures (subject, failures, last_at) VALUES (?, 0, ?) ON CONFLICT DO NOTHING";
        tx.execute(sql(text).bind(subject.to_vec()).bind(now)).await?;
        let select =
            sql("SELECT failures, last_at FROM sign_in_failures WHERE subject = ?").bind(subject.to_vec());
        let rows = tx.fetch(select.locking()).await?;
        let row = rows.first().ok_or(StoreError::Damaged("a count of failed sign-ins"))?;
        if !may_try(Failures { count: row.get(0)?, last_at: row.get(1)? }) {
            return Ok(false);
        }
        let text = "UPDATE sign_in_failures SET failures = failures + 1, last_at = ? WHERE subject = ?";
        tx.execute(sql(text).bind(now).bind(subject.to_vec())).await?;
    }
    Ok(true)
}

/// Forgets the failures of each of `subjects`: the sign-in succeeded.
pub async fn forget(store: &Store, subjects: &[[u8; 32]]) -> Result<(), StoreError> {
    let mut connection = store.connect().await?;
    for subject in subjects {
        let delete = sql("DELETE FROM sign_in_failures WHERE subject = ?").bind(subject.to_vec());
        connection.execute(delete).await?;
    }
    Ok(())
}
