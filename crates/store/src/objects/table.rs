//! The rows of objects: written before a put, marked when writes begin or cease to need the object, deleted after it.

use overnight_domain::ids::RequestId;

use crate::StoreError;
use crate::database::{Tx, Value, statements};
use crate::effects::LedgerDeltas;
use crate::object_store::{ObjectName, Reference};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};

statements! {
    RESERVE over [Bytes, Integer, Integer, Integer, Integer] = {
        sqlite: "INSERT INTO objects (name, account, bytes, state, created_at, delete_at)
            VALUES (?1, ?2, ?3, 0 /* being put */, ?4, ?5)",
        postgres: "INSERT INTO objects (name, account, bytes, state, created_at, delete_at)
            SELECT name, account, bytes, 0 /* being put */, created_at, delete_at
            FROM unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS v(name, account, bytes, created_at, delete_at)",
    };
    USE_FOR_REQUEST over [Bytes, Bytes] = {
        sqlite: "UPDATE objects SET state = 1 /* in use */, delete_at = NULL, request = (SELECT seq FROM requests WHERE id = ?2)
            WHERE name = ?1 AND state = 0 /* being put */",
        postgres: "UPDATE objects o SET state = 1 /* in use */, delete_at = NULL, request = r.seq
            FROM unnest($1::bytea[], $2::bytea[]) AS v(name, id) JOIN requests r ON r.id = v.id
            WHERE o.name = v.name AND o.state + 0 = 0 /* being put */",
    };
    USE_FOR_RESULT over [Bytes, Integer] = {
        sqlite: "UPDATE objects SET state = 1 /* in use */, delete_at = NULL, request = ?2
            WHERE name = ?1 AND state = 0 /* being put */",
        postgres: "UPDATE objects o SET state = 1 /* in use */, delete_at = NULL, request = v.request
            FROM unnest($1::bytea[], $2::bigint[]) AS v(name, request)
            WHERE o.name = v.name AND o.state + 0 = 0 /* being put */",
    };
    LET_GO over [Integer] = {
        sqlite: "UPDATE objects SET state = 2 /* in use no more */
            WHERE request = ?1 AND request IS NOT NULL AND state = 1 /* in use */ RETURNING account, bytes",
        postgres: "UPDATE objects SET state = 2 /* in use no more */
            WHERE request = ANY ($1::bigint[]) AND request IS NOT NULL AND state = 1 /* in use */ RETURNING account, bytes",
    };
    DISCARD over [Bytes] = {
        sqlite: "UPDATE objects SET state = 2 /* in use no more */, delete_at = 0 WHERE name = ?1 AND state = 0 /* being put */",
        postgres: "UPDATE objects SET state = 2 /* in use no more */, delete_at = 0
            WHERE name = ANY ($1::bytea[]) AND state + 0 = 0 /* being put */",
    };
    /// Whether it was put is unknown.
    GIVE_UP = "UPDATE objects SET delete_at = ? WHERE name = ? AND state = 0 /* being put */";
    /// It was never put.
    FORGET = "DELETE FROM objects WHERE name = ? AND state = 0 /* being put */";
}

/// An object noted this long ago is not put any more.
pub(super) const PUT_MS: i64 = 60 * 60 * 1_000;

/// An object noted this long ago and unused is deleted: longer than any write takes.
const UNUSED_MS: i64 = 24 * 60 * 60 * 1_000;

pub(super) struct ReserveObject {
    pub(super) name: ObjectName,
    pub(super) bytes: usize,
    pub(super) now: i64,
}

impl Operation for ReserveObject {
    type Answer = ();
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::ReserveObject;

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<()>, StoreError> {
        let mut rows = Vec::with_capacity(5 * jobs.len());
        for Job { operation: Self { name, bytes, now }, .. } in jobs {
            rows.extend([Value::from(name.bits.to_vec()), name.account.into(), (*bytes as i64).into()]);
            rows.extend([Value::from(*now), (*now + UNUSED_MS).into()]);
        }
        write.tx.execute(RESERVE.over([], rows)).await?;
        Ok(vec![(); jobs.len()])
    }
}

/// Bytes of the object that a stored body names.
pub(crate) fn bytes_beside(stored: &[u8]) -> i64 {
    Reference::read(stored).map_or(0, |reference| i64::try_from(reference.bytes).unwrap_or(i64::MAX))
}

/// Marks objects that the bodies of these requests name as in use; the transaction has stored the requests.
pub(crate) async fn use_for_requests<'r>(
    requests: impl Iterator<Item = (RequestId, &'r [u8])>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let named = requests.filter_map(|(id, body)| Some([name_of(body)?, id.into()]));
    let rows: Vec<Value> = named.flatten().collect();
    let count = rows.len() / 2;
    check_used(tx.execute(USE_FOR_REQUEST.over([], rows)).await?, count)
}

/// For results, by row number.
pub(crate) async fn use_for_results<'r>(
    results: impl Iterator<Item = (i64, &'r [u8])>,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    let named = results.filter_map(|(request, body)| Some([name_of(body)?, request.into()]));
    let rows: Vec<Value> = named.flatten().collect();
    let count = rows.len() / 2;
    check_used(tx.execute(USE_FOR_RESULT.over([], rows)).await?, count)
}

/// A deleted object, or one being deleted, cannot be used.
fn check_used(used: u64, wanted: usize) -> Result<(), StoreError> {
    match usize::try_from(used) == Ok(wanted) {
        true => Ok(()),
        false => Err(StoreError::Refused("an object was put too long ago".to_owned())),
    }
}

fn name_of(stored: &[u8]) -> Option<Value> {
    Reference::read(stored).map(|reference| reference.name.bits.to_vec().into())
}

/// Releases objects of requests that the transaction deletes; they no longer count for their accounts.
pub(crate) async fn let_go(
    requests: Vec<Value>,
    ledger: &mut LedgerDeltas,
    tx: &mut Tx<'_>,
) -> Result<(), StoreError> {
    for row in tx.fetch(LET_GO.over([], requests)).await? {
        ledger.store_bytes(row.get("account")?, -row.get::<i64>("bytes")?);
    }
    Ok(())
}
