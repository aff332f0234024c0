//! Writes to a store and the model, and the answers of both. Requests, batches and leases are numbered in the order in which a sequence
//! asks for them. Times are in milliseconds, money in nano-credits.

use std::collections::{BTreeMap, BTreeSet};

use overnight_domain::requests::RequestStatus;

/// Price points: the cost of a million tokens read, and of a million tokens written.
pub(super) const PRICES: [(i64, i64); 2] = [(1_000_000_000, 2_000_000_000), (1, 333_333_333)];
/// Granted to each account at its creation.
pub(super) const GRANT: i64 = 40_000;
pub(super) const LIVE_MAX: i64 = 6;
pub(super) const WEBHOOK: &str = "https://receiver.example/hook";
pub(super) const METADATA: &str = "{}";

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
    /// The hold, and the index of its price point in [`PRICES`].
    pub(super) hold: Option<(i64, usize)>,
    pub(super) has_webhook: bool,
}

/// The end of a leased request. `answer` is unique.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) lease: usize,
    pub(super) answer: u64,
    /// Tokens read and written; `None` for a failure.
    pub(super) tokens: Option<(i64, i64)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Taken,
    OverQuota,
    InsufficientCredits {
        available: i64,
    },
    /// A batch was created, with its counters by status.
    Grouped([i64; 5]),
    /// A request already has a batch.
    Changed,
    Cancelled,
    AlreadyEnded(RequestStatus),
    Marked,
    BatchCancelled,
    BatchCompleted,
    Ended(BTreeSet<usize>),
    /// How many entered the queue, by account and model, and when the next ones are ready.
    Released(BTreeMap<(usize, usize), i64>, Option<i64>),
    /// The leases, each with its epoch, and the requests that were not leased.
    Leased(Vec<(usize, i64)>, Vec<usize>),
    Held(Vec<bool>),
    Reclaimed(u64),
    Done,
}

pub(super) fn result_body(answer: u64) -> String {
    format!(r#"{{"answer":{answer}}}"#)
}

pub(super) fn attempt_message(at: i64) -> String {
    format!("refused at {at}")
}

pub(super) fn request_body(request: usize) -> String {
    format!(r#"{{"model":"plain","messages":[{{"role":"user","content":"{request}"}}]}}"#)
}
