//! Effects of a group of writes on other rows than its own: collected during the group, and written once at the end of its transaction, in
//! the order in which every node locks rows:
//! 1. the counters and states of batches ([`batch_counters`]), which may end a batch, and the order in which their requests ended;
//! 2. events for webhooks ([`events`]), of requests and of the batches that ended with them;
//! 3. money, usage and counts of accounts ([`ledger_deltas`]), whose rows are locked last;
//! 4. the blocks in which requests ended or were deleted (`request_blocks.rs`), under the locks of their accounts.
//!
//! A create reads the credits and usage of its account, so [`Effects::apply_batch_counters`] precedes it. A write that ends a request
//! reports that once, to `Effects`.

mod accounts;
pub(super) mod batch_counters;
pub(super) mod batch_ends;
pub(super) mod events;
mod ledger_deltas;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use overnight_domain::batches::Counters;
use overnight_domain::requests::RequestStatus;
use overnight_domain::webhooks::EventKind;
use tokio::sync::Notify;

pub(super) use self::accounts::Accounts;
use self::batch_counters::EndsOfBatches;
pub(super) use self::batch_ends::NewEnds;
use self::events::NewEvents;
pub(super) use self::events::{EventContext, low_half};
pub(super) use self::ledger_deltas::{AcceptedPrice, Completed, LedgerDeltas};
use super::StoreError;
use super::batch_watches::BatchWatches;
use super::database::Tx;
use super::request_blocks::BlockChanges;

/// Times are in milliseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedRequest {
    pub(super) seq: i64,
    pub(super) account: i64,
    pub(super) batch: Option<i64>,
    /// `None` without a webhook.
    pub(super) lane: Option<i64>,
    pub(super) hold: i64,
    pub(super) result_bytes: i64,
    pub(super) from: RequestStatus,
    pub(super) to: RequestStatus,
    pub(super) now: i64,
    pub(super) ended_at: i64,
}

#[derive(Default)]
pub(super) struct Effects {
    batches: BTreeMap<i64, Counters>,
    ends: EndsOfBatches,
    ended_batches: BTreeSet<i64>,
    deleted: BTreeMap<i64, i64>,
    now: i64,
    events: NewEvents,
    events_written: usize,
    pub(super) ledger: LedgerDeltas,
    pub(super) blocks: BlockChanges,
}

impl Effects {
    pub(super) fn moved(&mut self, batch: Option<i64>, from: RequestStatus, to: RequestStatus, now: i64) {
        if let Some(batch) = batch {
            self.batches.entry(batch).or_default().shift(from, to, 1);
            self.now = self.now.max(now);
        }
    }

    /// For a request that failed or was cancelled.
    pub(super) fn ended(&mut self, request: &EndedRequest) {
        self.left(request);
        self.events.request_ended(request.seq, request.to, request.lane, request.ended_at);
        self.ledger.release(request.account, request.hold, request.to, request.now);
        self.ledger.store_bytes(request.account, request.result_bytes);
    }

    /// Charges a completed request, and releases its hold.
    pub(super) fn completed(
        &mut self,
        request: &EndedRequest,
        completed: Completed,
        accepted: AcceptedPrice,
    ) {
        self.left(request);
        self.events.request_ended(request.seq, request.to, request.lane, request.ended_at);
        self.ledger.capture(completed, accepted);
        self.ledger.store_bytes(request.account, request.result_bytes);
    }

    /// The request is no longer live.
    fn left(&mut self, request: &EndedRequest) {
        self.moved(request.batch, request.from, request.to, request.now);
        self.blocks.ended(request.account, request.seq, request.to);
        if let Some(batch) = request.batch {
            self.ends.entry(batch).or_default().push((request.ended_at, request.seq));
        }
    }

    /// This many lines of a cancelled batch's file never become requests. They count as cancelled and deleted requests.
    pub(super) fn cancelled_unfilled(&mut self, batch: i64, lines: i64, now: i64) {
        self.batches.entry(batch).or_default().shift(
            RequestStatus::Registered,
            RequestStatus::Cancelled,
            lines,
        );
        *self.deleted.entry(batch).or_default() += lines;
        self.now = self.now.max(now);
    }

    /// This many lines of its file make no requests, and do not count in `batch`.
    pub(super) fn dropped(&mut self, batch: i64, lines: i64, now: i64) {
        self.batches.entry(batch).or_default().registered -= lines;
        self.now = self.now.max(now);
        // This may have ended it.
        self.ended_batches.insert(batch);
    }

    pub(super) fn deleted(&mut self, batch: i64) {
        *self.deleted.entry(batch).or_default() += 1;
    }

    /// A batch completed, or its cancel is done.
    pub(super) fn batch_ended(&mut self, batch: i64, kind: EventKind, lane: Option<i64>, now: i64) {
        self.events.batch_ended(batch, kind, lane, now);
    }

    /// Rows of batches are locked before those of accounts.
    pub(super) async fn apply_batch_counters(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let (batches, deleted) = (std::mem::take(&mut self.batches), std::mem::take(&mut self.deleted));
        let ends = std::mem::take(&mut self.ends);
        self.ended_batches.extend(ends.keys());
        for batch in batch_counters::apply(&batches, ends, &deleted, self.now, tx).await? {
            self.events.batch_ended(batch.seq, EventKind::BatchCompleted, batch.lane, self.now);
        }
        Ok(())
    }

    /// In this module's order.
    pub(super) async fn apply(&mut self, context: &EventContext, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        self.apply_batch_counters(tx).await?;
        self.events_written += self.events.write(context, tx).await?;
        self.ledger.write(tx).await?;
        self.blocks.write(tx).await
    }

    pub(super) fn after_commit(self, context: &EventContext, watches: &Arc<BatchWatches>) -> AfterCommit {
        let wake = (self.events_written > 0).then(|| Arc::clone(&context.written));
        let ended = (!self.ended_batches.is_empty()).then(|| (Arc::clone(watches), self.ended_batches));
        AfterCommit { ledger: self.ledger, wake, ended }
    }
}

/// Runs once a transaction is durable.
pub(super) struct AfterCommit {
    ledger: LedgerDeltas,
    wake: Option<Arc<Notify>>,
    ended: Option<(Arc<BatchWatches>, BTreeSet<i64>)>,
}

impl AfterCommit {
    /// Counts charges, and wakes the deliverer of events and followers of batches.
    pub(super) fn run(&self) {
        self.ledger.count();
        if let Some(wake) = &self.wake {
            wake.notify_one();
        }
        if let Some((watches, batches)) = &self.ended {
            watches.notify(batches);
        }
    }
}
