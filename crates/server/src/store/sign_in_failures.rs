//! Failed sign-ins in a row, so that guessing takes longer each time. Each is counted before it is known to have failed, so
//! that many at once are no way around it.

use super::database::{Row, Tx, sql};
use super::{Store, StoreError};

/// Failed sign-ins in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failures {
    /// How many.
    pub count: i64,
    /// When the last was, in milliseconds.
    pub last_at: i64,
}

/// What is known of each of `subjects`, in their order.
pub async fn find(store: &Store, subjects: &[[u8; 32]]) -> Result<Vec<Failures>, StoreError> {
    let mut found = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let select = sql("SELECT failures, last_at FROM sign_in_failures WHERE subject = ?");
        let row = store.readers().fetch_optional(select.bind(subject.to_vec())).await?;
        found.push(row.map_or(Ok(Failures::default()), |row| read(&row))?);
    }
    Ok(found)
}

/// Counts a try for each of `subjects`, unless `must_wait` says of what is known of them how long they have to wait; what it says.
/// What is older than `forgotten_before` is forgotten.
pub async fn count(
    store: &Store,
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    must_wait: impl Fn(&[Failures]) -> Option<i64>,
) -> Result<Option<i64>, StoreError> {
    let mut connection = store.connect().await?;
    let mut tx = Tx::begin(&mut connection).await?;
    let counted = count_in(subjects, now, forgotten_before, must_wait, &mut tx).await;
    tx.conclude(counted, |wait| wait.is_none()).await
}

async fn count_in(
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    must_wait: impl Fn(&[Failures]) -> Option<i64>,
    tx: &mut Tx<'_>,
) -> Result<Option<i64>, StoreError> {
    // In one order, so that two tries do not wait for each other.
    let mut places: Vec<usize> = (0..subjects.len()).collect();
    places.sort_unstable_by_key(|place| subjects[*place]);
    let mut before = vec![Failures::default(); subjects.len()];
    for place in places {
        let text = "INSERT INTO sign_in_failures (subject, failures, last_at) VALUES (?, 1, ?)
                    ON CONFLICT (subject) DO UPDATE SET failures =
                        CASE WHEN sign_in_failures.last_at < ? THEN 1 ELSE sign_in_failures.failures + 1 END
                    RETURNING failures - 1, last_at";
        let insert = sql(text).bind(subjects[place].to_vec()).bind(now).bind(forgotten_before);
        let rows = tx.fetch(insert).await?;
        let row = rows.first().ok_or(StoreError::Damaged("a count of failed sign-ins"))?;
        let known = read(row)?;
        before[place] = if known.count == 0 { Failures::default() } else { known };
    }
    let wait = must_wait(&before);
    if wait.is_none() {
        for subject in subjects {
            let update = sql("UPDATE sign_in_failures SET last_at = ? WHERE subject = ?");
            tx.execute(update.bind(now).bind(subject.to_vec())).await?;
        }
        tx.execute(sql("DELETE FROM sign_in_failures WHERE last_at < ?").bind(forgotten_before)).await?;
    }
    Ok(wait)
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

fn read(row: &Row) -> Result<Failures, StoreError> {
    Ok(Failures { count: row.get(0)?, last_at: row.get(1)? })
}
