//! Batches whose requests come from a file. Creating one reads no line: lines become requests step by step ([`super::filling`]), and are
//! counted as registered until then.

use std::collections::BTreeMap;

use bytes::Bytes;
use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::files::{BatchEndpoint, BatchFile, BatchInput};
use overnight_domain::ids::{BatchId, FileId};
use overnight_domain::money::Credits;
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use super::new::NewBatch;
use super::reads;
use crate::database::{Row, Tx, statements};
use crate::effects::Accounts;
use crate::idempotency_keys::{Claim, Claims, Guard, Guarded};
use crate::ledger::holds::Admission;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// A batch of a file. With faults it is cancelled from the beginning.
#[derive(Debug, Clone)]
pub struct NewInputBatch {
    /// Without members.
    pub batch: NewBatch,
    pub file: i64,
    pub file_id: FileId,
    pub endpoint: BatchEndpoint,
    pub lines: i64,
    pub hold: Credits,
    /// Row number of the API key that created it, if any.
    pub api_key: Option<i64>,
    pub fault_count: i64,
    /// The first faults, a JSON array.
    pub faults: Option<Bytes>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputBatch {
    pub record: BatchRecord,
    /// `None` if its requests were grouped.
    pub input: Option<BatchInput>,
    /// Whether its requests are still being cancelled.
    pub is_cancelling: bool,
    pub lengths: FileLengths,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewInputBatchOutcome {
    Created(Box<InputBatch>),
    NoFile,
    /// The account is suspended or closed.
    Suspended,
    OverQuota(QuotaExceeded),
    /// The account cannot cover the maximum cost of its requests.
    InsufficientCredits {
        required: Credits,
        available: Credits,
    },
}

/// The lengths of the files that a batch is read as; `None` until somebody measured them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLengths {
    input: Option<i64>,
    output: Option<i64>,
    errors: Option<i64>,
    /// Requests of the batch that are deleted: a deletion makes the files shorter.
    deleted: i64,
}

impl FileLengths {
    pub const fn of(&self, file: BatchFile) -> Option<i64> {
        match file {
            BatchFile::Input => self.input,
            BatchFile::Output => self.output,
            BatchFile::Errors => self.errors,
        }
    }
}

statements! {
    LOCK_FILE = {
        sqlite: "SELECT seq FROM files WHERE seq = ? AND state = 1 /* ready */",
        postgres: "SELECT seq FROM files WHERE seq = ? AND state = 1 /* ready */ FOR SHARE",
    };
    INSERT = "INSERT INTO batch_inputs (batch, account, state, file, file_id, endpoint, lines, filled, next_piece, next_line, filler_at,
               fault_count, faults, deleted_outputs, api_key)
        VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, ?, 0, ?)";
    FIND = "SELECT b.seq, b.id, b.created_at, b.in_progress_at, b.completed_at, b.cancelled_at, b.cancelling,
               b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.webhook, b.metadata, b.input_bytes, b.output_bytes, b.error_bytes, b.deleted,
               i.state, i.file_id, i.endpoint, i.lines, i.filled, i.fault_count, i.faults, i.deleted_outputs
        FROM batches b LEFT JOIN batch_inputs i ON i.batch = b.seq WHERE b.id = ? AND b.account = ?";
    /// The faults are read with a single batch only.
    PAGE_FROM_NEWEST = "SELECT b.seq, b.id, b.created_at, b.in_progress_at, b.completed_at, b.cancelled_at, b.cancelling,
               b.registered, b.in_progress, b.completed, b.failed, b.cancelled, b.webhook, b.metadata, b.input_bytes, b.output_bytes, b.error_bytes, b.deleted,
               i.state, i.file_id, i.endpoint, i.lines, i.filled, i.fault_count, NULL AS faults, i.deleted_outputs
        FROM batches b LEFT JOIN batch_inputs i ON i.batch = b.seq WHERE b.account = ? AND b.seq < ? ORDER BY b.seq DESC LIMIT ?";
    DELETE_OUTPUT = "UPDATE batch_inputs SET deleted_outputs = deleted_outputs + ?
        WHERE batch = (SELECT seq FROM batches WHERE id = ? AND account = ?) AND deleted_outputs NOT IN (?, 3)";
    KEEP_LENGTHS = "UPDATE batches SET input_bytes = ?, output_bytes = ?, error_bytes = ? WHERE id = ? AND account = ? AND deleted = ?";
}

/// Stores a batch of a file, once for all calls with the key of the guard.
pub async fn insert_of_file(
    store: &Store,
    batch: NewInputBatch,
    guard: Option<Guard<InputBatch>>,
) -> Result<Guarded<NewInputBatchOutcome>, StoreError> {
    store.writer().write(InsertInputBatch { new: batch, guard }).await
}

pub async fn find_with_input(
    store: &Store,
    account: AccountKey,
    id: BatchId,
) -> Result<Option<(i64, InputBatch)>, StoreError> {
    let row = store.readers().fetch_optional(FIND.bind(id).bind(account)).await?;
    row.map(|row| Ok((row.get("seq")?, read(&row)?))).transpose()
}

/// Newest first, from before the row `before`, without the faults of their files.
pub async fn page_with_inputs(
    store: &Store,
    account: AccountKey,
    before: Option<i64>,
    limit: u32,
) -> Result<Vec<InputBatch>, StoreError> {
    let query = PAGE_FROM_NEWEST.bind(account).bind(before.unwrap_or(i64::MAX)).bind(limit);
    store.readers().fetch_all(query).await?.iter().map(read).collect()
}

/// Keeps the length of a file of an ended batch, until a request of the batch is deleted.
pub async fn keep_length(
    store: &Store,
    account: AccountKey,
    batch: &InputBatch,
    file: BatchFile,
    bytes: i64,
) -> Result<(), StoreError> {
    let FileLengths { mut input, mut output, mut errors, deleted } = batch.lengths;
    *match file {
        BatchFile::Input => &mut input,
        BatchFile::Output => &mut output,
        BatchFile::Errors => &mut errors,
    } = Some(bytes);
    let id = batch.record.id;
    let keep = KEEP_LENGTHS.bind(input).bind(output).bind(errors).bind(id).bind(account).bind(deleted);
    store.transaction_of(account, async move |tx: &mut Tx<'_>| tx.execute(keep).await.map(drop)).await
}

/// Deletes the output or the error file that a batch of a file is read as; returns whether there was one.
pub async fn delete_output(
    store: &Store,
    account: AccountKey,
    id: BatchId,
    file: BatchFile,
) -> Result<bool, StoreError> {
    let bit: i64 = match file {
        BatchFile::Input => return Ok(false),
        BatchFile::Output => 1,
        BatchFile::Errors => 2,
    };
    let delete = DELETE_OUTPUT.bind(bit).bind(id).bind(account).bind(bit);
    store.transaction_of(account, async move |tx: &mut Tx<'_>| Ok(tx.execute(delete).await? > 0)).await
}

fn read(row: &Row) -> Result<InputBatch, StoreError> {
    let record = reads::read(row)?;
    let input = match row.get::<Option<i64>>("state")? {
        None => None,
        Some(state) => {
            let deleted: i64 = row.get("deleted_outputs")?;
            let endpoint = BatchEndpoint::parse_stored(row.get("endpoint")?);
            Some(BatchInput {
                file: row.get("file_id")?,
                endpoint: endpoint.ok_or(StoreError::DamagedColumn("endpoint"))?,
                lines: row.get("lines")?,
                filled: row.get("filled")?,
                is_filling: state == 0,
                fault_count: row.get("fault_count")?,
                faults: row.share("faults")?,
                is_output_deleted: deleted & 1 != 0,
                is_error_deleted: deleted & 2 != 0,
            })
        }
    };
    let lengths = FileLengths {
        input: row.get("input_bytes")?,
        output: row.get("output_bytes")?,
        errors: row.get("error_bytes")?,
        deleted: row.get("deleted")?,
    };
    Ok(InputBatch { record, input, is_cancelling: row.get("cancelling")?, lengths })
}

struct InsertInputBatch {
    new: NewInputBatch,
    guard: Option<Guard<InputBatch>>,
}

impl Operation for InsertInputBatch {
    type Answer = Guarded<NewInputBatchOutcome>;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewInputBatch;

    fn account(&self) -> Option<AccountKey> {
        Some(self.new.batch.account)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.new.batch.texts_bytes() + self.new.faults.as_ref().map_or(0, Bytes::len)
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Guarded<NewInputBatchOutcome>>, StoreError> {
        let operations: Vec<&Self> = jobs.iter().map(|job| &job.operation).collect();
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let claims = operations.iter().map(|operation| operation.claim()).collect();
        let claims = Claims::take(claims, &mut write.tx).await?;
        let first = claims.first();
        let news = || first.iter().filter_map(|&place| Some(&operations.get(place)?.new));
        let now = news().map(|new| (new.batch.account.0, new.batch.created_at)).collect();
        let mut outcomes = Vec::with_capacity(first.len());
        let files = lock_files(news(), write).await?;
        let mut accounts =
            Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
        for (new, has_file) in news().zip(files) {
            outcomes.push(match has_file {
                true => new.make(&mut accounts, write).await?,
                false => NewInputBatchOutcome::NoFile,
            });
        }
        let response = |place: usize, outcome: &NewInputBatchOutcome| match outcome {
            NewInputBatchOutcome::Created(batch) => {
                Some(operations.get(place)?.guard.as_ref()?.response(batch))
            }
            _ => None,
        };
        let ledger = &mut write.effects.ledger;
        let count = |account, bytes| ledger.store_bytes(account, bytes);
        claims.end(outcomes, response, count, &mut write.tx).await
    }
}

/// Which files still exist; those stay until the transaction ends.
async fn lock_files<'n>(
    news: impl Iterator<Item = &'n NewInputBatch>,
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<bool>, StoreError> {
    let mut there = BTreeMap::new();
    let files: Vec<i64> = news.map(|new| new.file).collect();
    for file in &files {
        there.insert(*file, false);
    }
    // Every node locks in this order.
    for (file, is_there) in &mut there {
        *is_there = !write.tx.fetch(LOCK_FILE.bind(*file)).await?.is_empty();
    }
    Ok(files.iter().map(|file| there.get(file) == Some(&true)).collect())
}

impl InsertInputBatch {
    fn claim(&self) -> Option<Claim> {
        let NewBatch { account, created_at, .. } = self.new.batch;
        self.guard.as_ref().map(|guard| Claim { account, key: guard.key, created_at })
    }
}

impl NewInputBatch {
    async fn make(
        &self,
        accounts: &mut Accounts,
        write: &mut WriteTransaction<'_>,
    ) -> Result<NewInputBatchOutcome, StoreError> {
        let NewBatch { account: AccountKey(account), created_at, .. } = self.batch;
        if accounts.is_suspended(account)? {
            return Ok(NewInputBatchOutcome::Suspended);
        }
        let has_failed = self.fault_count > 0;
        let lines = if has_failed { 0 } else { self.lines };
        let faults = self.faults.as_ref().map_or(0, Bytes::len) as i64;
        let bytes = self.batch.stored_bytes() + 16 * lines + faults;
        if let Err(exceeded) = accounts.admit_bytes(account, bytes, created_at)? {
            return Ok(NewInputBatchOutcome::OverQuota(exceeded));
        }
        if !has_failed
            && let Admission::InsufficientCredits { required, available } =
                accounts.check_hold(account, self.hold)?
        {
            return Ok(NewInputBatchOutcome::InsufficientCredits { required, available });
        }
        let counters = Counters { registered: lines, ..Counters::default() };
        let state = match BatchState::new(&counters, created_at) {
            state if has_failed => state.cancel(created_at).unwrap_or(state),
            state => state,
        };
        let batch = self.batch.insert(write, &counters, &state, None).await?;
        let insert = INSERT
            .bind(batch)
            .bind(account)
            .bind(has_failed)
            .bind(self.file)
            .bind(self.file_id)
            .bind(self.endpoint.as_str())
            .bind(lines)
            .bind(self.fault_count)
            .bind(self.faults.clone())
            .bind(self.api_key);
        write.tx.execute(insert).await?;
        if has_failed {
            write.effects.batch_ended(batch, EventKind::BatchCancelled, self.batch.lane(), created_at);
        }
        write.effects.ledger.store_bytes(account, bytes);
        Ok(NewInputBatchOutcome::Created(Box::new(InputBatch {
            record: self.batch.record(&counters, &state),
            input: Some(BatchInput {
                file: self.file_id,
                endpoint: self.endpoint,
                lines,
                filled: 0,
                is_filling: !has_failed,
                fault_count: self.fault_count,
                faults: self.faults.clone(),
                is_output_deleted: false,
                is_error_deleted: false,
            }),
            is_cancelling: false,
            lengths: FileLengths::default(),
        })))
    }
}
