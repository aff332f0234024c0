//! Waits for the end of requests and batches.

use std::collections::BTreeSet;

use overnight_client::{BatchStatus, BatchSummary, Client, RequestStatus, RequestSummary, RequestsCounts};

use crate::errors::CliError;
use crate::interrupt::Interrupt;
use crate::output::Output;
use crate::progress::Progress;
use crate::times;

const FIRST_PAUSE_MS: i64 = 100;
const PAUSE_MS_MAX: i64 = 2_000;
/// Without progress for this long, the user gets advice.
const STALLED_MS: i64 = 60_000;
/// The limit of different reasons in the advice.
const REASONS_MAX: usize = 32;

#[derive(Debug)]
pub(crate) enum Waited<T> {
    Ended(T),
    Stopped,
}

/// Waits until every batch has ended. During a stall, prints the `reasons`.
pub(crate) async fn for_batches(
    client: &Client,
    ids: &[String],
    output: &Output,
    interrupt: &Interrupt,
    reasons: impl AsyncFn() -> Vec<String>,
) -> Result<Waited<Vec<BatchSummary>>, CliError> {
    let mut rhythm = Rhythm::new();
    let (mut ended_before, mut told) = (None, BTreeSet::new());
    let mut progress: Option<Progress> = None;
    let mut statuses: Vec<BatchSummary> = Vec::with_capacity(ids.len());
    loop {
        for (place, id) in ids.iter().enumerate() {
            match statuses.get_mut(place) {
                Some(status) if has_ended(status) => {}
                Some(status) => *status = client.get_batch_status(id).await?,
                None => statuses.push(client.get_batch_status(id).await?),
            }
        }
        let counts = total(&statuses);
        let ended = ended_of(&counts);
        let progress =
            progress.get_or_insert_with(|| Progress::begin(output, "waiting", count(counts.total), ended));
        progress.set(ended, &beside(&counts));
        if statuses.iter().all(has_ended) {
            return Ok(Waited::Ended(statuses));
        }
        if ended_before.replace(ended) == Some(ended) {
            for reason in reasons().await {
                if told.len() < REASONS_MAX && told.insert(reason.clone()) {
                    progress.note(&reason);
                }
            }
        }
        if rhythm.is_stalled(ended) {
            progress.note("nothing has ended for a minute; `overnight doctor` looks at the engines");
        }
        if rhythm.pause(interrupt).await.is_err() {
            return Ok(Waited::Stopped);
        }
    }
}

/// Clients do not know why there is no progress: only operators see engines.
pub(crate) async fn no_reasons() -> Vec<String> {
    Vec::new()
}

pub(crate) async fn for_request(
    client: &Client,
    id: &str,
    output: &Output,
    interrupt: &Interrupt,
) -> Result<Waited<RequestSummary>, CliError> {
    let mut rhythm = Rhythm::new();
    let progress = Progress::begin(output, "waiting", 1, 0);
    loop {
        let status = client.get_request_status(id).await?;
        if matches!(
            status.status,
            RequestStatus::Completed | RequestStatus::Failed | RequestStatus::Cancelled
        ) {
            return Ok(Waited::Ended(status));
        }
        if rhythm.is_stalled(0) {
            progress.note("it has not ended for a minute; `overnight doctor` looks at the engines");
        }
        if rhythm.pause(interrupt).await.is_err() {
            return Ok(Waited::Stopped);
        }
    }
}

/// The requests of all batches together, by state.
pub(crate) fn total(statuses: &[BatchSummary]) -> RequestsCounts {
    statuses.iter().fold(RequestsCounts::default(), |sum, status| {
        let counts = &status.requests_counts;
        RequestsCounts {
            total: sum.total + counts.total,
            completed: sum.completed + counts.completed,
            failed: sum.failed + counts.failed,
            in_progress: sum.in_progress + counts.in_progress,
            registered: sum.registered + counts.registered,
            cancelled: sum.cancelled + counts.cancelled,
        }
    })
}

/// Whether a batch is final. A batch that is being cancelled still changes.
const fn has_ended(status: &BatchSummary) -> bool {
    let live = status.requests_counts.registered + status.requests_counts.in_progress;
    matches!(status.status, BatchStatus::Completed | BatchStatus::Cancelled) && live == 0
}

fn ended_of(counts: &RequestsCounts) -> u64 {
    count(counts.completed + counts.failed + counts.cancelled)
}

fn beside(counts: &RequestsCounts) -> String {
    let parts = [(counts.failed, "failed"), (counts.cancelled, "cancelled")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    parts.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}

fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Polling intervals: short at first, then longer.
struct Rhythm {
    pause_ms: i64,
    moved_at: i64,
    ended: u64,
}

impl Rhythm {
    fn new() -> Self {
        Self { pause_ms: FIRST_PAUSE_MS, moved_at: times::now(), ended: 0 }
    }

    async fn pause(&mut self, interrupt: &Interrupt) -> Result<(), ()> {
        let outcome = tokio::select! {
            () = interrupt.raised() => Err(()),
            () = times::pause(self.pause_ms) => Ok(()),
        };
        self.pause_ms = (self.pause_ms * 5 / 4).min(PAUSE_MS_MAX);
        outcome
    }

    /// Whether there was no progress for long; true once for each such period.
    fn is_stalled(&mut self, ended: u64) -> bool {
        let now = times::now();
        let is_stalled = ended == self.ended && now - self.moved_at >= STALLED_MS;
        if ended != self.ended || is_stalled {
            (self.ended, self.moved_at) = (ended, if is_stalled { i64::MAX } else { now });
        }
        is_stalled
    }
}
