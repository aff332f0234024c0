//! What clients know of a batch.

use overnight_domain::batches::{BatchState, BatchStatus, Counters};
use overnight_domain::ids::BatchId;
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;

use crate::broken::{Step, ensure};
use crate::oracle::Calls;
use crate::tags::Tag;

/// A batch as its client knows it.
#[derive(Debug)]
pub(crate) struct BatchFacts {
    pub(crate) tag: Tag,
    pub(crate) account: AccountKey,
    /// Its requests, in the order sent.
    pub(crate) requests: Vec<Tag>,
    pub(crate) id: Option<BatchId>,
    pub(crate) calls: Calls,
    /// Another batch had taken a request: for ever.
    pub(crate) is_refused: bool,
    pub(crate) is_cancel_acknowledged: bool,
    last: Option<(BatchState, Counters)>,
}

impl BatchFacts {
    pub(crate) const fn new(tag: Tag, account: AccountKey, requests: Vec<Tag>) -> Self {
        Self {
            tag,
            account,
            requests,
            id: None,
            calls: Calls::NONE,
            is_refused: false,
            is_cancel_acknowledged: false,
            last: None,
        }
    }

    /// It has this identifier.
    pub(crate) fn name(&mut self, id: BatchId) -> Step {
        let tag = self.tag;
        ensure!(!self.is_refused, "batch {tag} was refused, and is {id}");
        ensure!(
            self.id.is_none_or(|known| known == id),
            "batch {tag} is stored twice: {:?} and {id}",
            self.id
        );
        self.id = Some(id);
        Ok(())
    }

    /// The service shows it like this now, and its requests in these states.
    pub(crate) fn see(&mut self, record: &BatchRecord, statuses: &[RequestStatus]) -> Step {
        let (tag, counters, state) = (self.tag, record.counters, record.state);
        self.name(record.id)?;
        let mut counted = Counters::default();
        statuses.iter().for_each(|status| *counted.of(*status) += 1);
        ensure!(counters == counted, "batch {tag} counts {counters:?}, and its requests are {counted:?}");
        ensure!(
            counters.total() == self.requests.len() as i64,
            "batch {tag} has {} requests, not {}",
            counters.total(),
            self.requests.len()
        );
        if let Some((before, counted)) = self.last {
            ensure!(may_become(&before, &state), "batch {tag} went from {before:?} to {state:?}");
            // From the mark on, nothing in the batch runs or settles.
            ensure!(
                before.status() != BatchStatus::Cancelled
                    || (counters.completed == counted.completed
                        && counters.in_progress <= counted.in_progress),
                "batch {tag} was cancelled with {counted:?}, and has {counters:?}"
            );
        }
        ensure!(
            !self.is_cancel_acknowledged
                || (state.status() == BatchStatus::Cancelled && counters.live() == 0),
            "batch {tag} was cancelled, and is {state:?} with {counters:?}"
        );
        self.last = Some((state, counters));
        Ok(())
    }
}

/// Whether a batch that was seen in one state may be seen in the other later.
fn may_become(before: &BatchState, after: &BatchState) -> bool {
    let keeps_start = before.in_progress_at().is_none_or(|at| after.in_progress_at() == Some(at));
    before == after || (stage(before) < stage(after) && keeps_start)
}

const fn stage(state: &BatchState) -> u8 {
    match state {
        BatchState::Registered => 0,
        BatchState::InProgress { .. } => 1,
        BatchState::Completed { .. } | BatchState::Cancelled { .. } => 2,
    }
}
