//! A client's knowledge of a batch.

use overnight_domain::batches::{BatchState, BatchStatus, Counters};
use overnight_domain::files::BatchInput;
use overnight_domain::ids::{BatchId, FileId};
use overnight_domain::records::BatchRecord;
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestStatus};
use overnight_domain::scheduler::AccountKey;

use crate::broken::{Step, ensure};
use crate::oracle::{Calls, Deletion};
use crate::tags::Tag;

#[derive(Debug)]
pub(crate) struct FileFacts {
    pub(crate) content: String,
    /// A line of the file is invalid, so no line becomes a request.
    pub(crate) is_bad: bool,
    pub(crate) id: Option<FileId>,
    pub(crate) is_deleted: bool,
    /// The batch was cancelled when only some of its lines were requests.
    pub(crate) is_cut: bool,
}

impl FileFacts {
    pub(crate) const fn new(content: String, is_bad: bool) -> Self {
        Self { content, is_bad, id: None, is_deleted: false, is_cut: false }
    }
}

#[derive(Debug)]
pub(crate) struct BatchFacts {
    pub(crate) tag: Tag,
    pub(crate) account: AccountKey,
    /// In the order sent.
    pub(crate) requests: Vec<Tag>,
    pub(crate) file: Option<FileFacts>,
    pub(crate) id: Option<BatchId>,
    pub(crate) calls: Calls,
    /// Another batch had taken a request; final.
    pub(crate) is_refused: bool,
    pub(crate) is_cancel_sent: bool,
    pub(crate) is_cancel_acknowledged: bool,
    pub(crate) deletion: Deletion,
    last: Option<(BatchState, Counters)>,
}

impl BatchFacts {
    pub(crate) const fn new(tag: Tag, account: AccountKey, requests: Vec<Tag>) -> Self {
        Self {
            tag,
            account,
            requests,
            file: None,
            id: None,
            calls: Calls::NONE,
            is_refused: false,
            is_cancel_sent: false,
            is_cancel_acknowledged: false,
            deletion: Deletion::None,
            last: None,
        }
    }

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

    pub(crate) fn has_ended(&self) -> bool {
        self.last.is_some_and(|(state, counters)| stage(&state) == 2 && counters.live() == 0)
    }

    /// Checks what the service shows now: the batch, and the states of its requests. Lines left in the file are counted with them.
    pub(crate) fn see(
        &mut self,
        record: &BatchRecord,
        statuses: &[RequestStatus],
        input: Option<&BatchInput>,
    ) -> Step {
        let (tag, counters, state) = (self.tag, record.counters, record.state);
        self.name(record.id)?;
        ensure!(self.deletion != Deletion::Gone, "batch {tag} was deleted, and is shown");
        let mut counted = Counters::default();
        statuses.iter().for_each(|status| *counted.of(*status) += 1);
        ensure!(input.is_some() == self.file.is_some(), "batch {tag} is of the file {input:?}");
        if let Some(input) = input {
            self.see_input(record, input, &mut counted)?;
        }
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

    /// Checks the lines left in the file. Only a cancel of the client or the end of the completion window gives them up.
    fn see_input(&mut self, record: &BatchRecord, input: &BatchInput, counted: &mut Counters) -> Step {
        let (tag, state) = (self.tag, record.state);
        let Some(file) = &mut self.file else { return Ok(()) };
        let unfilled = input.lines - input.filled;
        ensure!(
            input.lines == self.requests.len() as i64 && (input.fault_count > 0) == file.is_bad,
            "batch {tag} is of another file: {input:?}"
        );
        ensure!(!file.is_bad || state.status() == BatchStatus::Cancelled, "a bad file made {record:?}");
        let may_be_cancelled = self.is_cancel_sent || file.is_bad;
        let is_overdue = state.cancelled_at().is_none_or(|at| at >= record.created_at + COMPLETION_WINDOW_MS);
        ensure!(may_be_cancelled || is_overdue, "nobody cancelled batch {tag}: {record:?}");
        let is_cancelled = state.status() == BatchStatus::Cancelled;
        ensure!(
            input.is_filling == (unfilled > 0 && !is_cancelled),
            "batch {tag} is {state:?} with {input:?}"
        );
        *counted.of(if is_cancelled { RequestStatus::Cancelled } else { RequestStatus::Registered }) +=
            unfilled;
        file.is_cut |= is_cancelled && unfilled > 0 && input.filled > 0;
        Ok(())
    }
}

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
