//! Counts of consecutive failed sign-ins, so that guessing takes longer each time. A try is counted before it is known to fail, so that
//! concurrent tries do not avoid the wait.

use crate::database::{Row, Tx, statements};
use crate::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Failures {
    pub count: i64,
    /// In milliseconds.
    pub last_at: i64,
}

/// How a successful sign-in changes a subject's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgiveness {
    pub subject: [u8; 32],
    /// The only try to subtract; `None` to forget all.
    pub only: Option<Try>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Try {
    /// In milliseconds.
    pub at: i64,
    /// The subject's count before.
    pub before: Failures,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counting {
    /// The counts before, in the order of subjects.
    Counted(Vec<Failures>),
    /// Not counted: the wait, in milliseconds.
    MustWait(i64),
}

statements! {
    FIND = "SELECT failures, last_at FROM sign_in_failures WHERE subject = ?";
    /// Returns the count before.
    COUNT = "INSERT INTO sign_in_failures (subject, failures, last_at) VALUES (?, 1, ?)
        ON CONFLICT (subject) DO UPDATE SET failures =
            CASE WHEN sign_in_failures.last_at < ? THEN 1 ELSE sign_in_failures.failures + 1 END
        RETURNING failures - 1 AS failures, last_at";
    /// If no other try was counted since, restores the time of the failure before: a success neither prolongs a wait nor keeps failures
    /// from being forgotten.
    TAKE_BACK = "UPDATE sign_in_failures SET failures = failures - 1,
            last_at = CASE WHEN failures = ? AND last_at = ? THEN ? ELSE last_at END
        WHERE subject = ? AND failures > 0";
    NOTE_TIME = "UPDATE sign_in_failures SET last_at = ? WHERE subject = ?";
    DELETE = "DELETE FROM sign_in_failures WHERE subject = ?";
    DELETE_OLD = "DELETE FROM sign_in_failures WHERE last_at < ?";
}

/// In the order of `subjects`.
pub async fn find(store: &Store, subjects: &[[u8; 32]]) -> Result<Vec<Failures>, StoreError> {
    let mut found = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let row = store.readers().fetch_optional(FIND.bind(*subject)).await?;
        found.push(row.map_or(Ok(Failures::default()), |row| read(&row))?);
    }
    Ok(found)
}

/// Counts a try for each of `subjects`, unless `must_wait` returns a wait for their counts. Failures older than `forgotten_before` are
/// forgotten.
pub async fn count(
    store: &Store,
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    must_wait: impl FnOnce(&[Failures]) -> Option<i64> + Send + 'static,
) -> Result<Counting, StoreError> {
    let subjects = subjects.to_vec();
    let counting = async move |tx: &mut Tx<'_>| {
        let before = count_in(&subjects, now, forgotten_before, tx).await?;
        if let Some(wait_ms) = must_wait(&before) {
            tx.undo();
            return Ok(Counting::MustWait(wait_ms));
        }
        for subject in subjects {
            tx.execute(NOTE_TIME.bind(now).bind(subject)).await?;
        }
        tx.execute(DELETE_OLD.bind(forgotten_before)).await?;
        Ok(Counting::Counted(before))
    };
    store.transaction(counting).await
}

/// Returns the counts before.
async fn count_in(
    subjects: &[[u8; 32]],
    now: i64,
    forgotten_before: i64,
    tx: &mut Tx<'_>,
) -> Result<Vec<Failures>, StoreError> {
    // In one order, so that two tries do not wait for each other.
    let mut places: Vec<usize> = (0..subjects.len()).collect();
    places.sort_unstable_by_key(|place| subjects[*place]);
    let mut before = vec![Failures::default(); subjects.len()];
    for place in places {
        let rows = tx.fetch(COUNT.bind(subjects[place]).bind(now).bind(forgotten_before)).await?;
        let known = read(rows.first().ok_or(StoreError::Damaged("a count of failed sign-ins"))?)?;
        before[place] = if known.count == 0 { Failures::default() } else { known };
    }
    Ok(before)
}

pub async fn forgive(store: &Store, forgiven: &[Forgiveness]) -> Result<(), StoreError> {
    let forgiven = forgiven.to_vec();
    store.transaction(async move |tx| forgive_in(&forgiven, tx).await).await
}

/// In the order in which tries are counted.
pub(crate) async fn forgive_in(forgiven: &[Forgiveness], tx: &mut Tx<'_>) -> Result<(), StoreError> {
    let mut forgiven = forgiven.to_vec();
    forgiven.sort_unstable_by_key(|it| it.subject);
    for Forgiveness { subject, only } in forgiven {
        let change = match only {
            Some(Try { at, before }) => {
                TAKE_BACK.bind(before.count + 1).bind(at).bind(before.last_at).bind(subject)
            }
            None => DELETE.bind(subject),
        };
        tx.execute(change).await?;
    }
    Ok(())
}

fn read(row: &Row) -> Result<Failures, StoreError> {
    Ok(Failures { count: row.get("failures")?, last_at: row.get("last_at")? })
}
