//! Deleting requests whose retention is over: the whole record goes, with its result, attempts and events. Its batch keeps its
//! counts and the ledger its entry.

use std::collections::BTreeMap;

use crate::store::database::{Row, Value, statements};
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::{WriteOrder, WriteTransaction};
use crate::store::{Store, StoreError};

/// Requests that one transaction deletes at most, but for one more of any size.
const ROWS_MAX: u32 = 128;
const BYTES_MAX: i64 = 16 << 20;

statements! {
    /// The requests with the oldest results.
    FIND_OLDEST_ENDED = "SELECT rs.seq, rs.account, rs.result_seq, rs.ended_at,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + octet_length(t.body) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                         FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM results t JOIN request_states rs ON rs.seq = t.request JOIN requests r ON r.seq = t.request
        WHERE t.seq > 0 ORDER BY t.seq LIMIT ?";
    /// What ended without a result, and what the first statement passed over.
    FIND_OLDEST_DEADLINES = "SELECT rs.seq, rs.account, rs.result_seq, rs.ended_at,
               512 + octet_length(r.body) + coalesce(octet_length(r.metadata), 0) + coalesce(1024 + 2 * octet_length(r.webhook), 0)
               + coalesce(octet_length(t.body), 0) + (SELECT CAST(coalesce(sum(octet_length(a.message)), 0) AS BIGINT)
                                                      FROM attempts a WHERE a.request = rs.seq) AS bytes
        FROM request_states rs JOIN requests r ON r.seq = rs.seq LEFT JOIN results t ON t.seq = rs.result_seq
        WHERE rs.deadline <= ? AND rs.state >= 3 /* ended */ ORDER BY rs.deadline, rs.seq LIMIT ?";
    /// On PostgreSQL another node may delete it in this moment: who deletes this row deletes the rest.
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
    DELETE_DELIVERIES over [Integer] = {
        sqlite: "DELETE FROM deliveries WHERE event = ?1",
        postgres: "DELETE FROM deliveries WHERE event = ANY ($1::bigint[])",
    };
    NOTE_LAST = {
        sqlite: "INSERT INTO last_deleted (table_name, seq) VALUES (?, ?)
            ON CONFLICT (table_name) DO UPDATE SET seq = max(seq, excluded.seq)",
        postgres: "INSERT INTO last_deleted (table_name, seq) VALUES (?, ?)
            ON CONFLICT (table_name) DO UPDATE SET seq = greatest(last_deleted.seq, excluded.seq)",
    };
}

/// Deletes some of the requests that ended by `before`, in milliseconds; how many, and none once there are no more. A request that
/// was cancelled goes once its completion window ended by then.
pub async fn delete_ended(store: &Store, before: i64) -> Result<usize, StoreError> {
    store.writer().write(DeleteEnded { before }).await
}

pub(in crate::store) struct DeleteEnded {
    before: i64,
}

/// A request to be deleted.
struct Ended {
    seq: i64,
    account: i64,
    result_seq: Option<i64>,
    ended_at: i64,
    bytes: i64,
}

impl Ended {
    fn read(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            seq: row.get("seq")?,
            account: row.get("account")?,
            result_seq: row.get("result_seq")?,
            ended_at: row.get("ended_at")?,
            bytes: row.get("bytes")?,
        })
    }
}

impl Operation for DeleteEnded {
    type Answer = usize;
    const CLASS: WriteClass = WriteClass::Control;
    const ORDER: WriteOrder = WriteOrder::DeleteEnded;

    fn rows(&self) -> usize {
        ROWS_MAX as usize
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<usize>, StoreError> {
        let mut answers = Vec::with_capacity(jobs.len());
        for job in jobs {
            answers.push(job.operation.delete(write).await?);
        }
        Ok(answers)
    }
}

impl DeleteEnded {
    async fn delete(&self, write: &mut WriteTransaction<'_>) -> Result<usize, StoreError> {
        let mut found = self.find(write).await?;
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
        // The events first: nobody adds a delivery to one that is gone.
        let rows = write.tx.fetch(DELETE_EVENTS.over([], requests)).await?;
        let events: Vec<i64> = rows.iter().map(|row| row.get("seq")).collect::<Result<_, _>>()?;
        write
            .tx
            .execute(DELETE_DELIVERIES.over([], events.iter().copied().map(Value::from).collect()))
            .await?;
        for ended in &deleted {
            write.effects.ledger.store_bytes(ended.account, -ended.bytes);
        }
        for (table, last) in [
            ("requests", deleted.iter().map(|ended| ended.seq).max()),
            ("results", deleted.iter().filter_map(|ended| ended.result_seq).max()),
            ("events", events.into_iter().max()),
        ] {
            if let Some(last) = last {
                write.tx.execute(NOTE_LAST.bind(table).bind(last)).await?;
            }
        }
        Ok(deleted.len())
    }

    /// What is to go, by `seq`.
    async fn find(&self, write: &mut WriteTransaction<'_>) -> Result<BTreeMap<i64, Ended>, StoreError> {
        let mut rows = write.tx.fetch(FIND_OLDEST_ENDED.bind(i64::from(ROWS_MAX))).await?;
        rows.extend(write.tx.fetch(FIND_OLDEST_DEADLINES.bind(self.before).bind(i64::from(ROWS_MAX))).await?);
        let (mut found, mut bytes) = (BTreeMap::new(), 0);
        for ended in rows.iter().map(Ended::read) {
            let ended = ended?;
            if ended.ended_at <= self.before && bytes < BYTES_MAX {
                bytes += ended.bytes;
                found.insert(ended.seq, ended);
            }
        }
        Ok(found)
    }
}
