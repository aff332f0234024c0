//! Deleting unused objects. A row is claimed before its object is deleted, so that it cannot be used again, and deleted after, so that a
//! crash in between only repeats the deletion.

use futures_util::future::join_all;
use overnight_base::planted_bugs::Bug;
use overnight_domain::scheduler::AccountKey;

use super::owner;
use super::table::PUT_MS;
use crate::database::{Row, Tx, Value, statements};
use crate::object_store::{ObjectName, ObjectStoreError};
use crate::{Store, StoreError};

/// Rows per transaction, and objects per deletion.
const ROWS_MAX: u32 = 256;

/// Delay after the object store refused a deletion.
const REFUSED_MS: i64 = 60 * 60 * 1_000;

statements! {
    SET_TIME = "UPDATE objects SET delete_at = ? WHERE name IN (
        SELECT name FROM objects WHERE state <> 1 /* in use */ AND delete_at IS NULL LIMIT ?)";
    CLAIM = "UPDATE objects SET state = 3 /* being deleted */ WHERE name IN (
        SELECT name FROM objects WHERE state <> 1 /* in use */ AND delete_at <= ? ORDER BY delete_at LIMIT ?)
        AND state <> 1 /* in use */ RETURNING name, account, request";
    DELETE over [Bytes] = {
        sqlite: "DELETE FROM objects WHERE name = ?1 AND state = 3 /* being deleted */",
        postgres: "DELETE FROM objects WHERE name = ANY ($1::bytea[]) AND state + 0 = 3 /* being deleted */",
    };
    POSTPONE over [Bytes] = {
        sqlite: "UPDATE objects SET delete_at = ?1 WHERE name = ?2 AND state = 3 /* being deleted */",
        postgres: "UPDATE objects SET delete_at = $1 WHERE name = ANY ($2::bytea[]) AND state + 0 = 3 /* being deleted */",
    };
    /// Objects of an erased account, except those that may be being put. Objects being deleted stay so, or wait after a refusal.
    HURRY = "UPDATE objects SET state = 3 /* being deleted */, delete_at = 0 WHERE name IN (
        SELECT name FROM objects WHERE account = ? AND state <> 1 /* in use */
            AND (delete_at IS NULL OR delete_at > 0)
            AND (state = 2 /* in use no more */ OR state = 0 /* being put */ AND created_at <= ?) LIMIT ?)";
    FIND_OF_ACCOUNT = "SELECT name FROM objects WHERE account = ? LIMIT 1";
    WAITING = "SELECT count(*) AS count, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM objects WHERE state <> 1 /* in use */";
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// To be deleted, or being put.
    pub objects: i64,
    pub bytes: i64,
}

/// Deletes objects unused for `delete_after`, and those never used; returns their number. Times are in milliseconds. Fails if the object
/// store is unreachable, when the others wait too, and if it refused some, after deleting the others.
pub async fn sweep(store: &Store, now: i64, delete_after: i64) -> Result<usize, StoreError> {
    let at = now.saturating_add(delete_after);
    while mark(store, at).await? == u64::from(ROWS_MAX) {}
    delete_due(store, now, None).await
}

/// Deletes due objects of all accounts. Fails if the object store refused one of `account`, or of any.
async fn delete_due(store: &Store, now: i64, account: Option<AccountKey>) -> Result<usize, StoreError> {
    let (mut deleted, mut refused) = (0, None);
    loop {
        let claim = CLAIM.bind(now).bind(ROWS_MAX);
        let rows = store.transaction(async move |tx: &mut Tx<'_>| tx.fetch(claim).await).await?;
        let outcome = delete(store, &rows, now, account).await?;
        deleted += outcome.deleted;
        refused = refused.or(outcome.refused);
        if rows.len() < ROWS_MAX as usize {
            return refused.map_or(Ok(deleted), |error| Err(error.into()));
        }
    }
}

async fn mark(store: &Store, at: i64) -> Result<u64, StoreError> {
    let set = SET_TIME.bind(at).bind(ROWS_MAX);
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(set).await).await
}

#[derive(Default)]
struct Outcome {
    deleted: usize,
    /// The refusal for that account, or for any.
    refused: Option<ObjectStoreError>,
}

/// Deletes claimed objects and their rows. Refused ones are retried later, so that they do not hold up others.
async fn delete(
    store: &Store,
    claimed: &[Row],
    now: i64,
    account: Option<AccountKey>,
) -> Result<Outcome, StoreError> {
    let names: Vec<ObjectName> = claimed.iter().map(read).collect::<Result<_, _>>()?;
    let Some(first) = names.first() else { return Ok(Outcome::default()) };
    owner::check(store, first.account).await?;
    let objects = store.objects().store()?;
    if Bug::ObjectRowDeletedFirst.is_planted() {
        forget(store, &names.iter().collect::<Vec<_>>()).await?;
    }
    let outcomes = join_all(names.iter().map(|name| objects.delete(name))).await;
    let done = || names.iter().zip(claimed).zip(&outcomes).filter(|(_, outcome)| outcome.is_ok());
    let gone: Vec<&ObjectName> = done().map(|((name, _), _)| name).collect();
    let mut unused = 0;
    for ((_, row), _) in done() {
        unused += u64::from(row.get::<Option<i64>>("request")?.is_none());
    }
    forget(store, &gone).await?;
    metrics::counter!("overnight_objects_deleted_total", "reason" => "unused").increment(unused);
    metrics::counter!("overnight_objects_deleted_total", "reason" => "deleted")
        .increment(gone.len() as u64 - unused);
    let deleted = gone.len();
    let refused: Vec<Value> = names.iter().zip(&outcomes).filter_map(as_refused).collect();
    if !refused.is_empty() {
        let postpone = POSTPONE.over([now.saturating_add(REFUSED_MS).into()], refused);
        store.transaction(async move |tx: &mut Tx<'_>| tx.execute(postpone).await).await?;
    }
    let mut failed = None;
    for (name, outcome) in names.iter().zip(outcomes) {
        match outcome {
            Err(error) if error.is_away() => return Err(error.into()),
            Err(error) if account.is_none_or(|account| account == name.account) => {
                failed = failed.or(Some(error));
            }
            _ => {}
        }
    }
    Ok(Outcome { deleted, refused: failed })
}

fn as_refused((name, outcome): (&ObjectName, &Result<(), ObjectStoreError>)) -> Option<Value> {
    let is_refused = outcome.as_ref().is_err_and(|error| !error.is_away());
    is_refused.then(|| name.bits.to_vec().into())
}

async fn forget(store: &Store, names: &[&ObjectName]) -> Result<(), StoreError> {
    let forget = DELETE.over([], names.iter().map(|name| name.bits.to_vec().into()).collect());
    store.transaction(async move |tx: &mut Tx<'_>| tx.execute(forget).await).await.map(drop)
}

fn read(row: &Row) -> Result<ObjectName, StoreError> {
    let bits = row.get::<&[u8]>("name")?.try_into().map_err(|_| StoreError::DamagedColumn("name"))?;
    Ok(ObjectName { account: row.get("account")?, bits })
}

/// Deletes an erased account's objects, and all else under its prefix; returns whether none is left. Fails if the object store does not
/// delete one.
pub(crate) async fn erase(store: &Store, account: AccountKey, now: i64) -> Result<bool, StoreError> {
    if !has_any(store, account).await? && store.objects().store.is_none() {
        return Ok(true);
    }
    loop {
        let hurry = HURRY.bind(account).bind(now - PUT_MS).bind(ROWS_MAX);
        if store.transaction(async move |tx: &mut Tx<'_>| tx.execute(hurry).await).await? == 0 {
            break;
        }
    }
    delete_due(store, now, Some(account)).await?;
    if has_any(store, account).await? {
        return Ok(false);
    }
    if !owner::check_to_erase(store, account).await? {
        return Ok(true);
    }
    let left = store.objects().store()?.delete_all(account).await?;
    if left > 0 {
        tracing::warn!(
            account = account.0,
            left,
            "objects that no row named were left of an account, and are deleted"
        );
    }
    Ok(left == 0)
}

async fn has_any(store: &Store, account: AccountKey) -> Result<bool, StoreError> {
    Ok(store.readers().fetch_optional(FIND_OF_ACCOUNT.bind(account)).await?.is_some())
}

pub async fn waiting(store: &Store) -> Result<Waiting, StoreError> {
    let row = store.readers().fetch_one(WAITING.unbound()).await?;
    Ok(Waiting { objects: row.get("count")?, bytes: row.get("bytes")? })
}
