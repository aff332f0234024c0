//! Deleting requests whose retention is over.

use std::collections::BTreeMap;

use crate::store::database::statements;
use crate::store::requests::deletion::{Ended, delete};
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
}

/// Deletes some of the requests that ended by `before`, in milliseconds; how many, and none once there are no more. A request that
/// was cancelled goes once its completion window ended by then.
pub async fn delete_ended(store: &Store, before: i64) -> Result<usize, StoreError> {
    store.writer().write(DeleteEnded { before }).await
}

pub(in crate::store) struct DeleteEnded {
    before: i64,
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
            let found = job.operation.find(write).await?;
            answers.push(delete(found, write).await?);
        }
        Ok(answers)
    }
}

impl DeleteEnded {
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
