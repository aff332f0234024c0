//! Turning the lines of a batch's file into requests, step by step. Each step is one write that also notes the progress, so a crash loses
//! and repeats no line. A cancelled batch is filled no further.

use bytes::Bytes;
use overnight_domain::files::BatchEndpoint;
use overnight_domain::ids::BatchId;
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::scheduler::AccountKey;

use crate::batches::insert::INSERT_MEMBERS;
use crate::database::{Row, Tx, statements};
use crate::effects::Accounts;
use crate::ledger::holds::Admission;
use crate::objects;
use crate::queue::endings::{End, Live, end_all};
use crate::requests::NewRequest;
use crate::requests::insert::store;
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

statements! {
    LIST = "SELECT DISTINCT account FROM batch_inputs WHERE state = 0 /* being filled */";
    NEXT = "SELECT i.batch, i.file, i.endpoint, i.next_piece, i.next_line, i.api_key, b.id, b.created_at
        FROM batch_inputs i JOIN batches b ON b.seq = i.batch
        WHERE i.account = ? AND i.state = 0 /* being filled */ ORDER BY i.batch LIMIT 1";
    CLAIM = "UPDATE batch_inputs SET filler_at = ? WHERE batch = ? AND state = 0 /* being filled */ AND filler_at <= ?";
    RELEASE = "UPDATE batch_inputs SET filler_at = 0 WHERE batch = ? AND state = 0 /* being filled */";
    LOCK_BATCH = {
        sqlite: "SELECT seq FROM batches WHERE seq = ? AND cancelled_at IS NULL",
        postgres: "SELECT seq FROM batches WHERE seq = ? AND cancelled_at IS NULL FOR UPDATE",
    };
    LOCK = {
        sqlite: "SELECT filled, lines FROM batch_inputs WHERE batch = ? AND state = 0 /* being filled */ AND next_piece = ? AND next_line = ?",
        postgres: "SELECT filled, lines FROM batch_inputs WHERE batch = ? AND state = 0 /* being filled */ AND next_piece = ? AND next_line = ?
            FOR UPDATE",
    };
    FIND_NEW = "SELECT s.seq, s.model, s.account, s.sort_key, s.state, s.ready_at, s.in_progress_at, s.ended_at
        FROM requests r JOIN current_states s ON s.seq = r.seq WHERE r.id = ?";
    ADVANCE = "UPDATE batch_inputs SET filled = ?, lines = ?, next_piece = ?, next_line = ?, filler_at = ?, state = ? WHERE batch = ?";
}

/// A batch that is being filled, and its progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    pub batch: i64,
    pub id: BatchId,
    /// In milliseconds.
    pub created_at: i64,
    pub file: i64,
    pub endpoint: BatchEndpoint,
    /// The place of the piece that has the next line.
    pub next_piece: i64,
    /// Lines of that piece before it.
    pub next_line: i64,
    /// Row number of the API key that created the batch.
    pub api_key: Option<i64>,
}

#[derive(Clone)]
pub struct FillLine {
    pub request: NewRequest,
    /// The `result_body` of a line that asks for something refused; it fails immediately.
    pub failure: Option<Bytes>,
}

#[derive(Clone)]
pub struct FillStep {
    /// The progress when they were read.
    pub filling: Filling,
    pub account: AccountKey,
    /// `None` for a line that makes no request, as when its model is gone.
    pub lines: Vec<Option<FillLine>>,
    /// Whether they end their piece.
    pub ends_piece: bool,
    /// In milliseconds.
    pub now: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filled {
    /// This many lines are done, and the batch has more.
    Some(usize),
    /// All lines of the batch are done.
    Last,
    /// No line makes a request any more: the batch is unchanged, and to be cancelled.
    Empty,
    /// It was cancelled, or another process fills it.
    Over,
    OverQuota(QuotaExceeded),
    InsufficientCredits,
}

pub async fn list_filling(store: &Store) -> Result<Vec<AccountKey>, StoreError> {
    store.readers().fetch_all(LIST.unbound()).await?.iter().map(|row| row.get("account")).collect()
}

/// The account's first batch to fill, for this process: `None` if there is none, or if a process worked on it after `stale_at`. Times are
/// in milliseconds.
pub async fn claim_filling(
    store: &Store,
    account: AccountKey,
    now: i64,
    stale_at: i64,
) -> Result<Option<Filling>, StoreError> {
    let Some(row) = store.readers().fetch_optional(NEXT.bind(account)).await? else { return Ok(None) };
    let filling = read(&row)?;
    let claim = CLAIM.bind(now).bind(filling.batch).bind(stale_at);
    let claimed = store.transaction_of(account, async move |tx: &mut Tx<'_>| tx.execute(claim).await).await?;
    Ok((claimed > 0).then_some(filling))
}

/// Leaves a batch to the next process.
pub async fn release_filling(store: &Store, account: AccountKey, batch: i64) -> Result<(), StoreError> {
    let release = RELEASE.bind(batch);
    store.transaction_of(account, async move |tx: &mut Tx<'_>| tx.execute(release).await.map(drop)).await
}

/// Makes as many requests of the next lines as the account may have now, in order.
pub async fn fill(store: &Store, mut step: FillStep) -> Result<Filled, StoreError> {
    let is_any_large = step.lines.iter().flatten().any(|line| store.is_large(&line.request.body));
    if !is_any_large && !store.encrypts() {
        return store.writer().write(FillBatch { step, is_trial: false }).await;
    }
    if is_any_large {
        // A line that the account may not have now is not put into the object store.
        let trial = store.writer().write(FillBatch { step: step.clone(), is_trial: true }).await?;
        let Filled::Some(passed) = trial else { return Ok(trial) };
        step.ends_piece &= passed == step.lines.len();
        step.lines.truncate(passed);
    }
    let bodies = step.lines.iter().flatten().map(|line| line.request.body.clone()).collect();
    let bodies = objects::all_stored(store, step.account, bodies, step.now).await?;
    for (line, body) in step.lines.iter_mut().flatten().zip(&bodies) {
        line.request.body = body.clone();
    }
    let are_requests: Vec<bool> = step.lines.iter().map(Option::is_some).collect();
    let filled = store.writer().write(FillBatch { step, is_trial: false }).await?;
    let passed = match &filled {
        Filled::Last => are_requests.len(),
        Filled::Some(passed) => *passed,
        Filled::Empty | Filled::Over | Filled::OverQuota(_) | Filled::InsufficientCredits => 0,
    };
    let used = are_requests.iter().take(passed).filter(|is_request| **is_request).count();
    store.discard(bodies.iter().skip(used)).await;
    Ok(filled)
}

fn read(row: &Row) -> Result<Filling, StoreError> {
    let endpoint = BatchEndpoint::parse_stored(row.get("endpoint")?);
    Ok(Filling {
        batch: row.get("batch")?,
        id: row.get("id")?,
        created_at: row.get("created_at")?,
        file: row.get("file")?,
        endpoint: endpoint.ok_or(StoreError::DamagedColumn("endpoint"))?,
        next_piece: row.get("next_piece")?,
        next_line: row.get("next_line")?,
        api_key: row.get("api_key")?,
    })
}

struct FillBatch {
    step: FillStep,
    /// If set, no line is done: the answer is how many would be.
    is_trial: bool,
}

impl Operation for FillBatch {
    type Answer = Filled;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::FillBatch;

    fn rows(&self) -> usize {
        self.step.lines.len()
    }

    fn account(&self) -> Option<AccountKey> {
        Some(self.step.account)
    }

    fn bytes(&self) -> usize {
        let lines = self.step.lines.iter().flatten();
        lines
            .map(|FillLine { request, failure }| {
                let failure = failure.as_ref().map_or(0, Bytes::len);
                size_of::<FillLine>() + request.body.len() + request.client.heap_bytes() + failure
            })
            .sum()
    }

    async fn apply(jobs: &[Job<Self>], write: &mut WriteTransaction<'_>) -> Result<Vec<Filled>, StoreError> {
        // Every node locks batches before accounts.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let mut places = Vec::with_capacity(jobs.len());
        for job in jobs {
            places.push(job.operation.step.lock(write).await?);
        }
        let now = jobs.iter().map(|job| (job.operation.step.account.0, job.operation.step.now)).collect();
        let mut accounts =
            Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
        let mut answers = Vec::with_capacity(jobs.len());
        for (job, place) in jobs.iter().zip(places) {
            answers.push(match place {
                Some(_) if job.operation.is_trial => job.operation.step.attempt(&mut accounts)?,
                Some(place) => job.operation.step.apply(place, &mut accounts, write).await?,
                None => Filled::Over,
            });
        }
        Ok(answers)
    }
}

struct Progress {
    filled: i64,
    lines: i64,
}

impl FillStep {
    /// The progress, if it is still the same; it stays so until the transaction ends.
    async fn lock(&self, write: &mut WriteTransaction<'_>) -> Result<Option<Progress>, StoreError> {
        let Filling { batch, next_piece, next_line, .. } = self.filling;
        if write.tx.fetch(LOCK_BATCH.bind(batch)).await?.is_empty() {
            return Ok(None);
        }
        let rows = write.tx.fetch(LOCK.bind(batch).bind(next_piece).bind(next_line)).await?;
        rows.first()
            .map(|row| Ok(Progress { filled: row.get("filled")?, lines: row.get("lines")? }))
            .transpose()
    }

    async fn apply(
        &self,
        progress: Progress,
        accounts: &mut Accounts,
        write: &mut WriteTransaction<'_>,
    ) -> Result<Filled, StoreError> {
        let Admitted { taken, dropped, .. } = match self.admit_some(accounts)? {
            Ok(admitted) => admitted,
            Err(refusal) => return Ok(refusal),
        };
        let passed = taken.len() + dropped;
        let (filled, lines) = (progress.filled + taken.len() as i64, progress.lines - dropped as i64);
        if lines == 0 {
            return Ok(Filled::Empty);
        }
        self.store(&taken, progress.filled, write).await?;
        let Filling { batch, next_piece, next_line, .. } = self.filling;
        if dropped > 0 {
            write.effects.dropped(batch, dropped as i64, self.now);
            write.effects.ledger.store_bytes(self.account.0, -16 * dropped as i64);
        }
        let ends_piece = self.ends_piece && passed == self.lines.len();
        let (piece, line) =
            if ends_piece { (next_piece + 1, 0) } else { (next_piece, next_line + passed as i64) };
        let is_last = filled >= lines;
        let advance =
            ADVANCE.bind(filled).bind(lines).bind(piece).bind(line).bind(self.now).bind(is_last).bind(batch);
        write.tx.execute(advance).await?;
        Ok(if is_last { Filled::Last } else { Filled::Some(passed) })
    }

    async fn store(
        &self,
        taken: &[&FillLine],
        place: i64,
        write: &mut WriteTransaction<'_>,
    ) -> Result<(), StoreError> {
        if taken.is_empty() {
            return Ok(());
        }
        let requests: Vec<&NewRequest> = taken.iter().map(|line| &line.request).collect();
        for request in &requests {
            let hold = request.hold.map_or(0, |hold| hold.amount.nanos());
            write.effects.ledger.accept(request.account.0, hold, request.stored_bytes());
        }
        store(&requests, write).await?;
        let ids: Vec<u8> = requests.iter().flat_map(|request| request.id.to_bytes()).collect();
        write.tx.execute(INSERT_MEMBERS.bind(self.filling.batch).bind(place).bind(ids)).await?;
        for line in taken {
            if let Some(failure) = &line.failure {
                let rows = write.tx.fetch(FIND_NEW.bind(line.request.id)).await?;
                let lives = rows.iter().map(Live::read).collect::<Result<_, _>>()?;
                end_all(lives, &End::Failed(failure.clone()), self.now, write).await?;
            }
        }
        Ok(())
    }

    /// How many of the lines would be done now.
    fn attempt(&self, accounts: &mut Accounts) -> Result<Filled, StoreError> {
        let admitted = self.admit_some(accounts)?;
        Ok(admitted.map_or_else(|refusal| refusal, |it| Filled::Some(it.taken.len() + it.dropped)))
    }

    /// The lines to do now, or the answer if there are none.
    fn admit_some(&self, accounts: &mut Accounts) -> Result<Result<Admitted<'_>, Filled>, StoreError> {
        // Requests of a suspended account still run; a closed account has its batches cancelled.
        if accounts.is_closed(self.account.0)? {
            return Ok(Err(Filled::Over));
        }
        let admitted = self.admit(accounts)?;
        let passed = admitted.taken.len() + admitted.dropped;
        Ok(match admitted.refused {
            Some(Admission::OverQuota(exceeded)) if passed == 0 => Err(Filled::OverQuota(exceeded)),
            Some(_) if passed == 0 => Err(Filled::InsufficientCredits),
            _ => Ok(admitted),
        })
    }

    /// The longest run of lines, from the first, that the account may have.
    fn admit(&self, accounts: &mut Accounts) -> Result<Admitted<'_>, StoreError> {
        let mut admitted =
            Admitted { taken: Vec::with_capacity(self.lines.len()), dropped: 0, refused: None };
        for line in &self.lines {
            let Some(line) = line else {
                admitted.dropped += 1;
                continue;
            };
            let request = &line.request;
            let bytes = request.stored_bytes();
            match accounts.admit(request.account.0, bytes, request.hold, request.created_at)? {
                Admission::Taken => admitted.taken.push(line),
                refused => {
                    admitted.refused = Some(refused);
                    break;
                }
            }
        }
        Ok(admitted)
    }
}

struct Admitted<'s> {
    taken: Vec<&'s FillLine>,
    dropped: usize,
    refused: Option<Admission>,
}
