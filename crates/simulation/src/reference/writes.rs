//! What a store and the model are asked, and what both answer. Requests, batches and leases are numbered in the order in which a
//! sequence asks for them. Times are in milliseconds, money in nano-credits.

use std::collections::{BTreeMap, BTreeSet};

use overnight_domain::requests::RequestStatus;

/// A price point: what a million tokens read and a million tokens written cost.
pub(super) const PRICES: [(i64, i64); 2] = [(1_000_000_000, 2_000_000_000), (1, 333_333_333)];
/// What each account is granted at its creation.
pub(super) const GRANT: i64 = 40_000;
/// The quota of live requests of each account.
pub(super) const LIVE_MAX: i64 = 6;
/// Where those who ask for it want to be told of an end.
pub(super) const WEBHOOK: &str = "https://receiver.example/hook";
/// The metadata of every request and batch.
pub(super) const METADATA: &str = "{}";

/// A write that a node is asked for.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) at: i64,
    pub(super) write: Write,
}

#[derive(Debug, Clone)]
pub(super) enum Write {
    Create(usize, NewRequest),
    Group { batch: usize, account: usize, requests: Vec<usize>, has_webhook: bool },
    Cancel { request: usize },
    CancelBatch { batch: usize, account: usize },
    CancelChunk { batch: usize },
    Release { limit: u32 },
    Lease { account: usize, model: usize, requests: Vec<usize> },
    Settle(Vec<End>),
    ReleaseLease { lease: usize, counts: bool },
    Expire { limit: u32, answer: u64 },
    Heartbeat,
    Reclaim,
    Leave,
}

#[derive(Debug, Clone)]
pub(super) struct NewRequest {
    pub(super) account: usize,
    pub(super) model: usize,
    pub(super) ready_at: i64,
    pub(super) deadline: i64,
    /// What it holds, and the place of its price point in [`PRICES`].
    pub(super) hold: Option<(i64, usize)>,
    pub(super) has_webhook: bool,
}

/// An end of a leased request. `answer` is told apart from all others.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) lease: usize,
    pub(super) answer: u64,
    /// What was read and written, or nothing where it failed.
    pub(super) tokens: Option<(i64, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    OverQuota,
    InsufficientCredits {
        available: i64,
    },
    /// A batch was made, with its counters by status.
    Grouped([i64; 5]),
    /// A request of it has a batch already.
    Changed,
    Cancelled,
    AlreadyEnded(RequestStatus),
    Marked,
    BatchCancelled,
    BatchCompleted,
    Ended(BTreeSet<usize>),
    /// How many entered the queue, by account and model, and when the next are ready.
    Released(BTreeMap<(usize, usize), i64>, Option<i64>),
    /// The leases, each with its epoch, and what is not leased.
    Leased(Vec<(usize, i64)>, Vec<usize>),
    /// Whether each lease was held.
    Held(Vec<bool>),
    Reclaimed(u64),
    Done,
}

/// The `result_body` of an end.
pub(super) fn result_body(answer: u64) -> String {
    format!(r#"{{"answer":{answer}}}"#)
}

/// The message of a failed attempt at `at`.
pub(super) fn attempt_message(at: i64) -> String {
    format!("refused at {at}")
}

pub(super) fn request_body(request: usize) -> String {
    format!(r#"{{"model":"plain","messages":[{{"role":"user","content":"{request}"}}]}}"#)
}
