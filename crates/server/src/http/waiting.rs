//! Calls that wait for the end of a request: for hours, if need be. Such a call counts in a share of its own, and nothing cuts it; a
//! client that leaves gives its place back, and its request stays in the queue.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::results::{FailedResult, FailureBody};
use tokio::sync::Notify;

use super::answers;
use super::calls::Caller;
use super::context::Shared;
use super::counters;
use super::errors::Refusal;
use super::idempotency::CallName;
use super::shares::{self, Buffer, CallPermit, Client, MemoryPermit};
use crate::app::errors::AppError;
use crate::app::requests;
use crate::clock::SharedClock;

/// Memory that is taken before a record is read, whose length nobody knows by then: that of the longest result.
const RECORD_BYTES: usize = 16 << 20;

/// A call that may begin to wait.
pub(super) struct MayWait {
    context: Shared,
    account: AccountKey,
    permit: Arc<CallPermit>,
    is_repeatable: bool,
}

impl FromRequestParts<Shared> for MayWait {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, context: &Shared) -> Result<Self, Refusal> {
        let Caller(account) = Caller::from_request_parts(parts, context).await?;
        let is_repeatable = CallName::from_request_parts(parts, context).await?.is_some();
        let permit = parts.extensions.get::<Arc<CallPermit>>().map(Arc::clone);
        let permit = permit.ok_or(Refusal::App(AppError::InvalidApiKey))?;
        Ok(Self { context: Arc::clone(context), account, permit, is_repeatable })
    }
}

impl MayWait {
    /// The call waits from now on, to the last byte of its answer. To be called before anything is created that would be waited for.
    ///
    /// # Errors
    ///
    /// [`Refusal::TooManyWaiting`] where the account has its share of such calls.
    pub(super) fn begin(self) -> Result<Waiting, Refusal> {
        let Self { context, account, permit, is_repeatable } = self;
        let Some(lost) = context.shares.begin_waiting(&permit) else {
            counters::count_over_share("waiting");
            return Err(Refusal::TooManyWaiting);
        };
        Ok(Waiting { context, account, lost, is_repeatable })
    }
}

/// A call that waits.
pub(super) struct Waiting {
    context: Shared,
    account: AccountKey,
    lost: Arc<Notify>,
    is_repeatable: bool,
}

/// A request that has ended, with the memory that it takes. To be held until the answer was sent.
pub(super) struct EndedRequest {
    pub(super) record: RequestRecord,
    memory: MemoryPermit,
}

impl EndedRequest {
    /// The completion.
    ///
    /// # Errors
    ///
    /// [`Refusal::RequestFailed`] and [`Refusal::RequestCancelled`] where it ended so.
    pub(super) fn completion(&self) -> Result<&Bytes, Refusal> {
        let RequestRecord { summary, result, .. } = &self.record;
        match (summary.state.status(), result) {
            (RequestStatus::Completed, Some(completion)) => Ok(completion),
            (RequestStatus::Failed, Some(failure)) => Err(Refusal::RequestFailed(read_failure(failure))),
            _ => Err(Refusal::RequestCancelled(summary.id)),
        }
    }

    /// Bytes of an answer in the place of the record, with the memory that they take.
    pub(super) fn hold(self, bytes: Vec<u8>) -> Bytes {
        let Self { record, mut memory } = self;
        drop(record);
        memory.correct(bytes.len());
        shares::hold(bytes.into(), Arc::new(memory))
    }

    /// 200 with this JSON.
    pub(super) fn answer(self, json: Vec<u8>) -> Response {
        let Self { record, mut memory } = self;
        drop(record);
        memory.correct(json.len());
        let mut response = answers::json(StatusCode::OK, |out| *out = json);
        response.extensions_mut().insert(Arc::new(memory));
        response
    }
}

/// The error of a failed request.
fn read_failure(result: &[u8]) -> FailureBody {
    let failed: Result<FailedResult, _> = serde_json::from_slice(result);
    failed.map(|failed| failed.error).unwrap_or_else(|_| FailureBody {
        message: "the request failed".to_owned(),
        kind: "server_error".to_owned(),
        code: "engine_invalid_response".to_owned(),
        param: None,
    })
}

impl Waiting {
    /// The service's clock.
    pub(super) fn clock(&self) -> SharedClock {
        Arc::clone(&self.context.services.clock)
    }

    /// The request once it has ended.
    ///
    /// # Errors
    ///
    /// [`AppError::NotFound`] where it is none of the account's, or was deleted meanwhile; [`Refusal::StillWaiting`] where the service
    /// stops, or another account has the place of the call.
    pub(super) async fn ended(&self, id: RequestId) -> Result<EndedRequest, Refusal> {
        let Self { context, account, lost, is_repeatable } = self;
        let is_repeatable = *is_repeatable;
        tokio::select! {
            biased;
            ended = requests::wait(&context.services, *account, id) => match ended {
                Err(AppError::Unavailable(_)) => return Err(Refusal::StillWaiting { id, is_repeatable }),
                ended => ended?,
            },
            () = lost.notified() => return Err(Refusal::StillWaiting { id, is_repeatable }),
        }
        let client = Client::Account(*account);
        let memory = context.shares.memory(Buffer::Responses, client, RECORD_BYTES).await;
        let mut memory = memory.ok_or_else(AppError::stopping)?;
        let record = requests::get_record(&context.services, *account, id).await?;
        memory.correct(record.heap_bytes());
        Ok(EndedRequest { record, memory })
    }
}
