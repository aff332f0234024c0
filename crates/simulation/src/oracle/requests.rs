//! A client's knowledge of a request.

use std::collections::BTreeMap;

use overnight_domain::ids::RequestId;
use overnight_domain::records::{RequestRecord, RequestSummary};
use overnight_domain::requests::{COMPLETION_WINDOW_MS, RequestState, RequestStatus};
use overnight_domain::scheduler::AccountKey;

use crate::broken::{Step, ensure};
use crate::engines::Nature;
use crate::oracle::{Calls, Deletion};
use crate::plan::MODELS;
use crate::tags::Tag;
use crate::texts;

/// Counted attempts after which the service gives up a request.
const ATTEMPTS_MAX: u32 = 5;

/// What happened to an answer that was handed to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Unknown: the process ended first.
    Open,
    Taken,
    Refused,
}

#[derive(Debug)]
pub(crate) struct RequestFacts {
    pub(crate) tag: Tag,
    pub(crate) account: AccountKey,
    pub(crate) model: usize,
    pub(crate) prompt: String,
    pub(crate) nature: Nature,
    pub(crate) id: Option<RequestId>,
    pub(crate) calls: Calls,
    pub(crate) is_acknowledged: bool,
    pub(crate) is_cancel_acknowledged: bool,
    pub(crate) expires_at: i64,
    pub(crate) state: Option<RequestState>,
    pub(crate) result: Option<Vec<u8>>,
    pub(crate) has_expired: bool,
    /// The batch that took the request, if known.
    pub(crate) batch: Option<Tag>,
    /// The batch whose file has the request as a line.
    pub(crate) line_of: Option<Tag>,
    pub(crate) deletion: Deletion,
    /// Answers that were handed to the store.
    pub(crate) offers: BTreeMap<String, Offer>,
    /// Attempts that an engine refused, answered with an invalid body, or failed otherwise.
    pub(crate) refusals: u32,
    pub(crate) nonsense: u32,
    pub(crate) troubles: u32,
}

impl RequestFacts {
    pub(crate) const fn new(
        tag: Tag,
        account: AccountKey,
        model: usize,
        prompt: String,
        nature: Nature,
    ) -> Self {
        Self {
            tag,
            account,
            model,
            prompt,
            nature,
            id: None,
            calls: Calls::NONE,
            is_acknowledged: false,
            is_cancel_acknowledged: false,
            expires_at: 0,
            state: None,
            result: None,
            has_expired: false,
            batch: None,
            line_of: None,
            deletion: Deletion::None,
            offers: BTreeMap::new(),
            refusals: 0,
            nonsense: 0,
            troubles: 0,
        }
    }

    /// The request is a line of a batch's file, not a call.
    pub(crate) const fn set_line_of(&mut self, batch: Tag) {
        (self.line_of, self.batch, self.is_acknowledged) = (Some(batch), Some(batch), true);
    }

    /// Whether the request exists and was not seen to have ended.
    pub(crate) fn is_live(&self) -> bool {
        self.id.is_some() && !self.state.is_some_and(|state| state.is_terminal())
    }

    /// Checks a summary that the service shows now.
    pub(crate) fn see(&mut self, seen: &RequestSummary) -> Step {
        let tag = self.tag;
        ensure!(self.id == Some(seen.id), "request {tag} is {:?} and was shown as {}", self.id, seen.id);
        ensure!(self.deletion != Deletion::Gone, "request {tag} was deleted, and is shown");
        ensure!(
            (self.line_of.is_some() || seen.expires_at == seen.created_at + COMPLETION_WINDOW_MS)
                && (self.expires_at == 0 || self.expires_at == seen.expires_at),
            "request {tag} has another completion window: {seen:?}"
        );
        self.expires_at = seen.expires_at;
        let state = seen.state;
        if let Some(before) = self.state {
            ensure!(may_become(&before, &state), "request {tag} went from {before:?} to {state:?}");
        }
        ensure!(
            !self.is_cancel_acknowledged || state.status() == RequestStatus::Cancelled,
            "request {tag} was cancelled, and is {state:?}"
        );
        self.state = Some(state);
        Ok(())
    }

    /// Checks a whole record that the service shows now.
    pub(crate) fn see_record(&mut self, record: &RequestRecord) -> Step {
        self.see(&record.summary)?;
        let tag = self.tag;
        ensure!(!self.calls.is_refused(), "request {tag} was refused, and is stored");
        ensure!(record.body == self.prompt.as_bytes(), "the body of request {tag} is another one");
        let state = record.summary.state;
        let wants_result = matches!(state.status(), RequestStatus::Completed | RequestStatus::Failed);
        ensure!(record.result.is_some() == wants_result, "request {tag} is {state:?}: {:?}", record.result);
        if let Some(result) = &record.result {
            ensure!(
                self.result.as_ref().is_none_or(|it| it == result),
                "the result of request {tag} changed"
            );
            match state {
                RequestState::Completed { .. } => self.check_answer(result)?,
                _ => self.check_failure(result, state.ended_at().unwrap_or(0))?,
            }
            self.result = Some(result.to_vec());
        }
        Ok(())
    }

    fn check_answer(&self, result: &[u8]) -> Step {
        let tag = self.tag;
        let Some((model, text)) = texts::answer(result) else {
            ensure!(false, "the answer of request {tag} is none");
            return Ok(());
        };
        ensure!(model == MODELS[self.model], "request {tag} was answered by the model {model}");
        let offer = self.offers.get(&text);
        ensure!(
            matches!(offer, Some(Offer::Taken | Offer::Open)),
            "request {tag} has an answer that was not taken for it ({offer:?}): {text}"
        );
        Ok(())
    }

    fn check_failure(&mut self, result: &[u8], ended_at: i64) -> Step {
        let (tag, code) = (self.tag, texts::failure_code(result).unwrap_or_default());
        let has_reason = match code.as_str() {
            "expired" => ended_at >= self.expires_at,
            "engine_rejected" => self.refusals > 0,
            "engine_invalid_response" => self.nonsense > 0,
            "engine_unavailable" => self.troubles >= ATTEMPTS_MAX,
            _ => false,
        };
        ensure!(has_reason, "request {tag} failed with {code:?} for no reason");
        self.has_expired = code == "expired";
        Ok(())
    }
}

fn may_become(before: &RequestState, after: &RequestState) -> bool {
    let keeps_start = before.in_progress_at().is_none_or(|at| after.in_progress_at() == Some(at));
    // A wait moves with a clock that was set back, and never becomes later.
    let is_earlier = match (before, after) {
        (RequestState::Gathering { ready_at: before }, RequestState::Gathering { ready_at: after }) => {
            after < before
        }
        _ => false,
    };
    before == after || is_earlier || (!before.is_terminal() && stage(before) < stage(after) && keeps_start)
}

const fn stage(state: &RequestState) -> u8 {
    match state {
        RequestState::Gathering { .. } => 0,
        RequestState::Queued => 1,
        RequestState::InProgress { .. } => 2,
        _ => 3,
    }
}
