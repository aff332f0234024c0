//! Creating a batch of existing requests. A write groups one piece of them, so that no other write waits long.
//!
//! The last write makes the batch visible. Before that, it is hidden, like a batch during its deletion: `account` is the negative number of its account,
//! and `grouping_at` is set. Requests that are not in it yet count as registered. If a piece cannot be grouped, or its process has ended, the batch is
//! taken apart ([`super::grouping`]).

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use overnight_domain::batches::{BatchState, Counters};
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::webhooks::EventKind;

use super::deletion::DeletedBatch;
use super::grouping::{join, leave, take_apart};
use super::new::{Member, NewBatch};
use crate::database::statements;
use crate::effects::Accounts;
use crate::idempotency_keys::{Claim, Claims, Guard, Guarded};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError, row};

const IDS_PER_ROW: usize = 512;

/// A range of no times.
#[expect(clippy::reversed_empty_ranges, reason = "it is empty")]
const NOTHING_UNDER_WAY: RangeInclusive<i64> = 1..=0;

/// Requests that one write groups.
pub(crate) const PIECE: usize = if cfg!(test) { 16 } else { 1_024 };

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewBatchOutcome {
    Created(BatchRecord),
    /// A request is in another batch; none was grouped.
    Changed,
    /// The account is suspended or closed; no request was grouped.
    Suspended,
    /// No request was grouped.
    OverQuota(QuotaExceeded),
}

statements! {
    LOCK = {
        sqlite: "SELECT registered, in_progress, completed, failed, cancelled, in_progress_at, completed_at, cancelled_at
            FROM batches WHERE seq = ? AND grouping_at > 0",
        postgres: "SELECT registered, in_progress, completed, failed, cancelled, in_progress_at, completed_at, cancelled_at
            FROM batches WHERE seq = ? AND grouping_at > 0 FOR UPDATE",
    };
    ADVANCE = "UPDATE batches SET account = ?, in_progress_at = ?, completed_at = ?,
               registered = ?, in_progress = ?, completed = ?, failed = ?, cancelled = ?, lane = ?, grouping_at = ?
        WHERE seq = ?";
    /// It was inserted in the same transaction, so its number may be used again.
    FORGET = "DELETE FROM batches WHERE seq = ?";
    /// A row's place is that of its first request.
    INSERT_MEMBERS = "INSERT INTO batch_members (batch, place, ids) VALUES (?, ?, ?)";
}

/// As [`insert_once`], without a key and in no time.
pub async fn insert(store: &Store, batch: NewBatch) -> Result<NewBatchOutcome, StoreError> {
    let created_at = batch.created_at;
    insert_once(store, batch, None, || created_at).await?.into_done()
}

/// All of its requests are grouped, or none; once for all calls with the key of the guard. `now` returns the time, in milliseconds. If this
/// future is dropped, the batch is taken apart later.
pub async fn insert_once(
    store: &Store,
    batch: NewBatch,
    guard: Option<Guard<BatchRecord>>,
    now: impl Fn() -> i64 + Send,
) -> Result<Guarded<NewBatchOutcome>, StoreError> {
    let account = batch.account;
    let whole = Arc::new(Whole::from(batch));
    let mut begun = None;
    let outcome = loop {
        let piece = InsertPiece { whole: Arc::clone(&whole), begun, guard, now: now() };
        match store.writer().write(piece).await {
            Ok(Guarded::Done(Progress::Begun(so_far))) => begun = Some(so_far),
            Ok(Guarded::Done(Progress::Ended(outcome))) => break Ok(Guarded::Done(outcome)),
            Ok(Guarded::Recalled(recalled)) => break Ok(Guarded::Recalled(recalled)),
            Err(error) => break Err(error),
        }
    };
    let is_created = matches!(outcome, Ok(Guarded::Done(NewBatchOutcome::Created(_))));
    if let Some(Begun { row, .. }) = begun.filter(|_| !is_created)
        && let Err(error) = take_apart(store, DeletedBatch { account, seq: row }, NOTHING_UNDER_WAY).await
    {
        tracing::warn!(%error, "taking a batch apart failed; will retry");
    }
    outcome
}

/// A batch, and the row numbers of its requests in their order: every node locks in it.
pub(crate) struct Whole {
    batch: NewBatch,
    seqs: Vec<i64>,
}

impl From<NewBatch> for Whole {
    fn from(batch: NewBatch) -> Self {
        let mut seqs: Vec<i64> = batch.members.iter().map(|member| member.seq).collect();
        seqs.sort_unstable();
        Self { batch, seqs }
    }
}

/// A batch with some of its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) row: i64,
    done: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    Begun(Begun),
    Ended(NewBatchOutcome),
}

/// The next requests of a batch.
pub(crate) struct InsertPiece {
    pub(crate) whole: Arc<Whole>,
    pub(crate) begun: Option<Begun>,
    pub(crate) guard: Option<Guard<BatchRecord>>,
    /// In milliseconds.
    pub(crate) now: i64,
}

impl Operation for InsertPiece {
    type Answer = Guarded<Progress>;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewBatch;

    fn rows(&self) -> usize {
        self.seqs().len()
    }

    fn account(&self) -> Option<AccountKey> {
        Some(self.whole.batch.account)
    }

    /// The first piece counts the whole batch. Later ones take 60 ms at most, so the writer need not pause after them as after a large write.
    fn bytes(&self) -> usize {
        let batch = self.whole.batch.members.len() * size_of::<Member>() + self.whole.batch.texts_bytes();
        size_of::<Self>() + if self.begun.is_none() { batch } else { 0 }
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Guarded<Progress>>, StoreError> {
        let pieces: Vec<&Self> = jobs.iter().map(|job| &job.operation).collect();
        // Every node locks batches, then keys, then requests, and accounts last.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let claims = Claims::take(pieces.iter().map(|piece| piece.claim()).collect(), &mut write.tx).await?;
        let first = claims.first();
        let todo = || first.iter().filter_map(|&place| pieces.get(place));
        let mut joined = Vec::with_capacity(first.len());
        for piece in todo() {
            joined.push(piece.join(write).await?);
        }
        // Other nodes lock the requests that they end before their batches.
        let mut grouped = Vec::with_capacity(first.len());
        for (piece, joined) in todo().zip(joined) {
            grouped.push(piece.count(joined, write).await?);
        }
        let now = todo().map(|piece| (piece.whole.batch.account.0, piece.whole.batch.created_at)).collect();
        let mut accounts =
            Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
        let mut outcomes = Vec::with_capacity(first.len());
        for (piece, grouped) in todo().zip(grouped) {
            outcomes.push(piece.end(grouped, &mut accounts, write).await?);
        }
        let response = |place: usize, outcome: &Progress| match outcome {
            Progress::Ended(NewBatchOutcome::Created(record)) => {
                Some(pieces.get(place)?.guard.as_ref()?.response(record))
            }
            _ => None,
        };
        let ledger = &mut write.effects.ledger;
        let count = |account, bytes| ledger.store_bytes(account, bytes);
        claims.end(outcomes, response, count, &mut write.tx).await
    }
}

/// The row of a batch, and the requests of a piece that have joined it.
struct Joined {
    row: i64,
    /// `None` if one could not, and so none has.
    counters: Option<Counters>,
}

/// A piece in its batch, while the transaction may still refuse it.
struct Grouped {
    row: i64,
    /// Of the whole batch; `None` if a request of the piece cannot be in it, or the batch is being taken apart.
    batch: Option<(Counters, BatchState)>,
}

impl InsertPiece {
    /// As many row numbers as requests in the order sent.
    fn places(&self) -> Range<usize> {
        let done = self.begun.map_or(0, |begun| begun.done);
        done..self.whole.seqs.len().min(done + PIECE)
    }

    fn seqs(&self) -> &[i64] {
        self.whole.seqs.get(self.places()).unwrap_or_default()
    }

    fn is_last(&self) -> bool {
        self.places().end == self.whole.seqs.len()
    }

    /// The key is taken with the last piece. Until then, a repeat finds its requests in a new batch.
    fn claim(&self) -> Option<Claim> {
        let NewBatch { account, created_at, .. } = self.whole.batch;
        let guard = self.guard.as_ref().filter(|_| self.is_last())?;
        Some(Claim { account, key: guard.key, created_at })
    }

    async fn join(&self, write: &mut WriteTransaction<'_>) -> Result<Joined, StoreError> {
        let NewBatch { account, created_at, .. } = self.whole.batch;
        let row = match self.begun {
            Some(Begun { row, .. }) => row,
            None => {
                let registered = self.whole.batch.members.len() as i64;
                let counters = Counters { registered, ..Counters::default() };
                let state = BatchState::new(&counters, created_at);
                self.whole.batch.insert(write, &counters, &state, Some(self.now)).await?
            }
        };
        let joined = join(row, account, self.seqs(), write).await?;
        let is_whole = joined.total() == self.seqs().len() as i64;
        if !is_whole {
            // Now, because the next piece of the group may name the same requests.
            leave(row, self.seqs(), write).await?;
        }
        Ok(Joined { row, counters: is_whole.then_some(joined) })
    }

    async fn count(
        &self,
        Joined { row, counters: joined }: Joined,
        write: &mut WriteTransaction<'_>,
    ) -> Result<Grouped, StoreError> {
        let Some(joined) = joined else { return Ok(Grouped { row, batch: None }) };
        let found = write.tx.fetch(LOCK.bind(row)).await?;
        let Some(found) = found.first() else { return Ok(Grouped { row, batch: None }) };
        let moved = Counters { registered: joined.registered - joined.total(), ..joined };
        let counters = row::counters(found)?.plus(&moved);
        let state = row::batch_state(found)?.observe(&counters, self.now);
        Ok(Grouped { row, batch: Some((counters, state)) })
    }

    async fn end(
        &self,
        Grouped { row, batch }: Grouped,
        accounts: &mut Accounts,
        write: &mut WriteTransaction<'_>,
    ) -> Result<Progress, StoreError> {
        let refusal = match batch {
            None => Some(NewBatchOutcome::Changed),
            Some(_) => self.refusal(accounts)?,
        };
        let (None, Some((counters, state))) = (&refusal, batch) else {
            leave(row, self.seqs(), write).await?;
            if self.begun.is_none() {
                write.tx.execute(FORGET.bind(row)).await?;
            }
            return Ok(Progress::Ended(refusal.unwrap_or(NewBatchOutcome::Changed)));
        };
        if self.begun.is_none() {
            write.effects.ledger.store_bytes(self.whole.batch.account.0, self.whole.batch.stored_bytes());
        }
        self.insert_members(write, row).await?;
        self.advance(row, &counters, &state, write).await?;
        if !self.is_last() {
            return Ok(Progress::Begun(Begun { row, done: self.places().end }));
        }
        if let Some(completed_at) = state.completed_at() {
            write.effects.batch_ended(row, EventKind::BatchCompleted, self.whole.batch.lane(), completed_at);
        }
        Ok(Progress::Ended(NewBatchOutcome::Created(self.whole.batch.record(&counters, &state))))
    }

    fn refusal(&self, accounts: &mut Accounts) -> Result<Option<NewBatchOutcome>, StoreError> {
        let NewBatch { account: AccountKey(account), created_at, .. } = self.whole.batch;
        if accounts.is_suspended(account)? {
            return Ok(Some(NewBatchOutcome::Suspended));
        }
        if self.begun.is_some() {
            return Ok(None);
        }
        let admitted = accounts.admit_bytes(account, self.whole.batch.stored_bytes(), created_at)?;
        Ok(admitted.err().map(NewBatchOutcome::OverQuota))
    }

    /// Notes its progress; the last piece makes the batch visible.
    async fn advance(
        &self,
        row: i64,
        counters: &Counters,
        state: &BatchState,
        write: &mut WriteTransaction<'_>,
    ) -> Result<(), StoreError> {
        let grouping_at = (!self.is_last()).then_some(self.now);
        let advance = ADVANCE
            .bind(self.whole.batch.account_while(grouping_at))
            .bind(state.in_progress_at())
            .bind(state.completed_at())
            .bind(counters.registered)
            .bind(counters.in_progress)
            .bind(counters.completed)
            .bind(counters.failed)
            .bind(counters.cancelled)
            .bind(self.whole.batch.lane_while(grouping_at))
            .bind(grouping_at)
            .bind(row);
        write.tx.execute(advance).await.map(drop)
    }

    async fn insert_members(&self, write: &mut WriteTransaction<'_>, row: i64) -> Result<(), StoreError> {
        let members = self.whole.batch.members.get(self.places()).unwrap_or_default();
        let places = (self.places().start as i64..).step_by(IDS_PER_ROW);
        for (place, members) in places.zip(members.chunks(IDS_PER_ROW)) {
            let ids: Vec<u8> = members.iter().flat_map(|member| member.id.to_bytes()).collect();
            write.tx.execute(INSERT_MEMBERS.bind(row).bind(place).bind(ids)).await?;
        }
        Ok(())
    }
}
