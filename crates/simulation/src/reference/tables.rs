//! The model's state. Counters and sums are recomputed from the requests; a store updates them one by one.

use std::collections::{BTreeMap, BTreeSet};

use overnight_domain::requests::RequestStatus;

use super::writes::{GRANT, METADATA, NewRequest, PRICES, WEBHOOK, attempt_message, result_body};

#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) requests: BTreeMap<usize, Request>,
    pub(super) batches: BTreeMap<usize, Batch>,
    /// Every lease ever given: its request and its epoch.
    pub(super) leases: Vec<(usize, i64)>,
    /// Nodes that have not been removed since their last heartbeat.
    pub(super) nodes: BTreeSet<u64>,
    /// Batches with requests that moved in this group of writes, and the requests that ended in it.
    pub(super) moved: BTreeMap<usize, Vec<usize>>,
    /// The latest time of such a move.
    pub(super) moved_at: i64,
}

/// Its times never change once they are set.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) new: NewRequest,
    pub(super) bytes: i64,
    /// The number that the store gave it, which orders requests of equal time.
    pub(super) seq: i64,
    pub(super) state: State,
    pub(super) epoch: i64,
    pub(super) batch: Option<usize>,
    pub(super) released_at: Option<i64>,
    pub(super) in_progress_at: Option<i64>,
    pub(super) ended_at: Option<i64>,
    pub(super) attempts: Vec<i64>,
    pub(super) result: Option<u64>,
    pub(super) tokens: Option<(i64, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Gathering,
    Waiting,
    Leased(u64),
    Completed,
    Failed,
    Cancelled,
}

#[derive(Debug)]
pub(super) struct Batch {
    pub(super) account: usize,
    pub(super) has_webhook: bool,
    pub(super) requests: Vec<usize>,
    /// Ended requests, in the order of their ends.
    pub(super) ends: Vec<usize>,
    pub(super) in_progress_at: Option<i64>,
    pub(super) completed_at: Option<i64>,
    pub(super) cancelled_at: Option<i64>,
    pub(super) is_cancelling: bool,
}

impl Request {
    pub(super) const fn is_live(&self) -> bool {
        matches!(self.state, State::Gathering | State::Waiting | State::Leased(_))
    }

    pub(super) const fn status(&self) -> RequestStatus {
        match self.state {
            State::Completed => RequestStatus::Completed,
            State::Failed => RequestStatus::Failed,
            State::Cancelled => RequestStatus::Cancelled,
            _ if self.in_progress_at.is_some() => RequestStatus::InProgress,
            _ => RequestStatus::Registered,
        }
    }

    /// The charge: its usage, rounded up once, at most its hold. `None` unless it completed and has a price.
    pub(super) fn charge(&self) -> Option<i64> {
        let ((read, written), (hold, price)) = (self.tokens?, self.new.hold?);
        let (input, output) = PRICES[price];
        Some(((read * input + written * output + 999_999) / 1_000_000).min(hold))
    }

    fn stored_bytes(&self) -> i64 {
        let messages = self.attempts.iter().map(|at| attempt_message(*at).len() as i64);
        self.bytes + self.result.map_or(0, |answer| result_body(answer).len() as i64) + messages.sum::<i64>()
    }
}

impl Model {
    /// Whether a lease is current and the newest of its request: held by `node`, or by any.
    pub(super) fn is_held(&self, lease: usize, node: Option<u64>) -> bool {
        let (request, epoch) = self.leases[lease];
        let request = &self.requests[&request];
        let is_leased = matches!(request.state, State::Leased(by) if node.is_none_or(|node| node == by));
        is_leased && request.epoch == epoch
    }

    pub(super) fn is_held_back(&self, request: usize) -> bool {
        self.requests[&request].batch.is_some_and(|batch| self.batches[&batch].cancelled_at.is_some())
    }

    pub(super) fn request(&mut self, request: usize) -> &mut Request {
        self.requests.get_mut(&request).expect("a request of the sequence")
    }

    pub(super) fn batch(&mut self, batch: usize) -> &mut Batch {
        self.batches.get_mut(&batch).expect("a batch of the sequence")
    }

    /// The selected requests, by this time and their numbers.
    pub(super) fn select(
        &self,
        which: impl Fn(&Request) -> bool,
        time: impl Fn(&Request) -> i64,
    ) -> Vec<usize> {
        let found = self.requests.iter().filter(|(_, request)| which(request));
        let mut found: Vec<_> = found.map(|(name, request)| (time(request), request.seq, *name)).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, _, name)| name).collect()
    }

    pub(super) fn by_end(&self, mut requests: Vec<usize>) -> Vec<usize> {
        requests.sort_by_key(|it| (self.requests[it].ended_at, self.requests[it].seq));
        requests
    }

    /// In the order of a request's life.
    pub(super) fn counters(&self, batch: usize) -> [i64; 5] {
        let of = |status| {
            self.batches[&batch].requests.iter().filter(|it| self.requests[it].status() == status).count()
        };
        RequestStatus::ALL.map(|status| of(status) as i64)
    }

    pub(super) fn of_account(&self, account: usize) -> impl Iterator<Item = &Request> {
        self.requests.values().filter(move |request| request.new.account == account)
    }

    pub(super) fn live_requests(&self, account: usize) -> i64 {
        self.of_account(account).filter(|request| request.is_live()).count() as i64
    }

    pub(super) fn held(&self, account: usize) -> i64 {
        let live = self.of_account(account).filter(|request| request.is_live());
        live.map(|request| request.new.hold.map_or(0, |(hold, _)| hold)).sum()
    }

    pub(super) fn balance(&self, account: usize) -> i64 {
        GRANT - self.of_account(account).filter_map(Request::charge).sum::<i64>()
    }

    pub(super) fn stored_bytes(&self, account: usize) -> i64 {
        let batches = self.batches.values().filter(|batch| batch.account == account);
        let of = |batch: &Batch| stored_bytes(16 * batch.requests.len(), batch.has_webhook);
        batches.map(of).sum::<i64>() + self.of_account(account).map(Request::stored_bytes).sum::<i64>()
    }
}

/// Counts the row, what its client sent, and its webhook.
pub(super) const fn stored_bytes(bytes: usize, has_webhook: bool) -> i64 {
    let webhook = if has_webhook { 1_024 + 2 * WEBHOOK.len() } else { 0 };
    (512 + METADATA.len() + bytes + webhook) as i64
}
