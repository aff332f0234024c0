//! Deleting ended requests: the whole record, with its result, attempts and events. Its batch keeps its counts and the ledger its entry.

use std::collections::BTreeMap;

use overnight_base::turns::Permit;
use overnight_domain::ids::RequestId;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Value, statements};
use crate::last_deleted::note_last;
use crate::objects::table::let_go;
use crate::outbox::deletion::delete_events;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    FIND_OWN = "SELECT rs.seq, rs.account, rs.result_seq, rs.state >= 3 /* ended */ AS has_ended,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM requests r JOIN request_states rs ON rs.seq = r.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE r.id = ? AND r.account = ?";
    /// On PostgreSQL another node may delete it now: whoever deletes this row deletes the rest.
    DELETE_STATES over [Integer] = {
        sqlite: "DELETE FROM request_states WHERE seq = ?1 AND state >= 3 /* ended */ RETURNING seq, batch",
        postgres: "DELETE FROM request_states WHERE seq = ANY ($1::bigint[]) AND state >= 3 /* ended */ RETURNING seq, batch",
    };
    DELETE_REQUESTS over [Integer] = {
        sqlite: "DELETE FROM requests WHERE seq = ?1",
        postgres: "DELETE FROM requests WHERE seq = ANY ($1::bigint[])",
    };
    DELETE_RESULTS over [Integer] = {
        sqlite: "DELETE FROM results WHERE seq = ?1",
        postgres: "DELETE FROM results WHERE seq = ANY ($1::bigint[])",
    };
    DELETE_ATTEMPTS over [Integer] = {
        sqlite: "DELETE FROM attempts WHERE request = ?1",
        postgres: "DELETE FROM attempts WHERE request = ANY ($1::bigint[])",
    };
    DELETE_EVENTS over [Integer] = {
        sqlite: "DELETE FROM events WHERE request = ?1 AND request IS NOT NULL RETURNING seq",
        postgres: "DELETE FROM events WHERE request = ANY ($1::bigint[]) AND request IS NOT NULL RETURNING seq",
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeletionOutcome {
    Unknown,
    /// It is live, and stays.
    NotEnded,
    Deleted,
}

pub async fn delete_request(
    store: &Store,
    account: AccountKey,
    id: RequestId,
) -> Result<DeletionOutcome, StoreError> {
    let turn = store.take_cancel_turn(account).await?;
    store.writer().write(DeleteRequest { account, id, _turn: turn }).await
}

struct DeleteRequest {
    account: AccountKey,
    id: RequestId,
    /// Held until done, even if the caller leaves.
    _turn: Permit,
}

impl Operation for DeleteRequest {
    type Answer = DeletionOutcome;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::DeleteRequest;

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<DeletionOutcome>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.delete(write).await?);
        }
        Ok(answers)
    }
}

impl DeleteRequest {
    async fn delete(&self, write: &mut WriteTransaction<'_>) -> Result<DeletionOutcome, StoreError> {
        let rows = write.tx.fetch(FIND_OWN.bind(self.id).bind(self.account)).await?;
        let Some(row) = rows.first() else { return Ok(DeletionOutcome::Unknown) };
        if !row.get::<bool>("has_ended")? {
            return Ok(DeletionOutcome::NotEnded);
        }
        let ended = Ended::read(row)?;
        // Another node may have deleted it meanwhile.
        match delete(BTreeMap::from([(ended.seq, ended)]), write).await? {
            0 => Ok(DeletionOutcome::Unknown),
            _ => Ok(DeletionOutcome::Deleted),
        }
    }
}

/// Requests per transaction, plus one of any size.
pub(crate) const ROWS_MAX: u32 = 128;
const BYTES_MAX: i64 = 16 << 20;

pub(crate) struct Ended {
    seq: i64,
    account: i64,
    result_seq: Option<i64>,
    bytes: i64,
}

/// The first of these requests that fit in a transaction, by `seq`.
pub(crate) fn read_chunk(rows: &[Row]) -> Result<BTreeMap<i64, Ended>, StoreError> {
    chunk_of(rows.iter().map(Ended::read))
}

fn chunk_of(
    all: impl Iterator<Item = Result<Ended, StoreError>>,
) -> Result<BTreeMap<i64, Ended>, StoreError> {
    let mut bytes = 0;
    let is_room = |ended: &Result<Ended, StoreError>| {
        let before = bytes;
        bytes += ended.as_ref().map_or(0, |ended| ended.bytes);
        before < BYTES_MAX
    };
    all.take_while(is_room).map(|ended| ended.map(|ended| (ended.seq, ended))).collect()
}

impl Ended {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.get("seq")?,
            account: row.get("account")?,
            result_seq: row.get("result_seq")?,
            bytes: row.get("bytes")?,
        })
    }
}

/// Returns the number deleted; another node may have deleted some.
pub(crate) async fn delete(
    mut found: BTreeMap<i64, Ended>,
    write: &mut WriteTransaction<'_>,
) -> Result<usize, StoreError> {
    let seqs = found.keys().copied().map(Value::from).collect();
    let mut deleted = Vec::with_capacity(found.len());
    for row in write.tx.fetch(DELETE_STATES.over([], seqs)).await? {
        if let Some(batch) = row.get("batch")? {
            write.effects.deleted(batch);
        }
        deleted.extend(found.remove(&row.get("seq")?));
    }
    let requests: Vec<Value> = deleted.iter().map(|ended| ended.seq.into()).collect();
    let results = deleted.iter().filter_map(|ended| ended.result_seq).map(Value::from).collect();
    write.tx.execute(DELETE_REQUESTS.over([], requests.clone())).await?;
    write.tx.execute(DELETE_ATTEMPTS.over([], requests.clone())).await?;
    write.tx.execute(DELETE_RESULTS.over([], results)).await?;
    let_go(requests.clone(), &mut write.effects.ledger, &mut write.tx).await?;
    let events = write.tx.fetch(DELETE_EVENTS.over([], requests)).await?;
    delete_events(&events, &mut write.tx).await?;
    for ended in &deleted {
        write.effects.ledger.store_bytes(ended.account, -ended.bytes);
        write.effects.blocks.deleted(ended.account, ended.seq);
    }
    for (table, last) in [
        ("requests", deleted.iter().map(|ended| ended.seq).max()),
        ("results", deleted.iter().filter_map(|ended| ended.result_seq).max()),
    ] {
        if let Some(last) = last {
            note_last(table, last, &mut write.tx).await?;
        }
    }
    Ok(deleted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_transaction_deletes_so_many_bytes_and_one_request_more() {
        let chunk = |sizes: &[i64]| {
            let ended =
                |(seq, bytes): (i64, &i64)| Ended { seq, account: 1, result_seq: None, bytes: *bytes };
            chunk_of((1..).zip(sizes).map(ended).map(Ok)).expect("a chunk").into_keys().collect::<Vec<_>>()
        };
        assert_eq!(chunk(&[]), [0; 0]);
        assert_eq!(chunk(&[1, 2, 3]), [1, 2, 3]);
        assert_eq!(chunk(&[BYTES_MAX - 2, 1, 1, 1]), [1, 2, 3], "what is behind the bound is another's");
        assert_eq!(chunk(&[BYTES_MAX - 1, BYTES_MAX, 1]), [1, 2], "the last may be of any size");
        assert_eq!(chunk(&[3 * BYTES_MAX, 1]), [1]);
    }
}
