//! Requests that are read for an answer in another form than the stored one. Memory is taken from the account's share before they are read,
//! so that many simultaneous ends do not fill the process's memory. Long ones are converted in turns, like the parsing of long bodies.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use overnight_app::errors::AppError;
use overnight_app::{parse, requests};
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::results::{FailedResult, FailureBody};

use super::answers;
use super::context::Shared;
use super::errors::Refusal;
use super::shares::{self, Buffer, Client, MemoryPermit};

/// Memory taken before a record is read, because its length is not known yet: that of the longest result.
const RECORD_BYTES: usize = 16 << 20;

/// The code of a failure without a code.
const INVALID_RESPONSE: &str = "engine_invalid_response";

/// A request with its memory of the account's share.
pub(super) struct HeldRequest {
    pub(super) record: RequestRecord,
    context: Shared,
    account: AccountKey,
    memory: MemoryPermit,
}

impl HeldRequest {
    /// Reads a request once there is memory for it, however long that takes.
    pub(super) async fn read_patiently(
        context: &Shared,
        account: AccountKey,
        id: RequestId,
    ) -> Result<Self, AppError> {
        let memory = context.shares.memory(Buffer::Responses, Client::Account(account), RECORD_BYTES).await;
        Self::read_into(context, account, id, memory.ok_or_else(AppError::stopping)?).await
    }

    /// Reads a request. Fails with [`AppError::Unavailable`] if there is no memory within a short time.
    pub(super) async fn read(context: &Shared, account: AccountKey, id: RequestId) -> Result<Self, AppError> {
        const WHY: &str = "responses that were not read hold all of your memory";
        let memory = context.memory(Buffer::Responses, Client::Account(account), RECORD_BYTES, WHY).await?;
        Self::read_into(context, account, id, memory).await
    }

    async fn read_into(
        context: &Shared,
        account: AccountKey,
        id: RequestId,
        mut memory: MemoryPermit,
    ) -> Result<Self, AppError> {
        let record = requests::get_record(&context.services, account, id).await?;
        memory.correct(record.heap_bytes());
        Ok(Self { record, context: Arc::clone(context), account, memory })
    }

    /// 200 with the JSON that `write` makes of the record.
    pub(super) async fn answer(
        self,
        write: impl FnOnce(&RequestRecord, &mut Vec<u8>) + Send + 'static,
    ) -> Result<Response, AppError> {
        let (json, memory) = self.render(write).await?;
        let mut response = answers::json(StatusCode::OK, |out| *out = json);
        response.extensions_mut().insert(Arc::new(memory));
        Ok(response)
    }

    /// The bytes that `write` makes of the record, with their memory.
    pub(super) async fn into_bytes(
        self,
        write: impl FnOnce(&RequestRecord, &mut Vec<u8>) + Send + 'static,
    ) -> Result<Bytes, AppError> {
        let (bytes, memory) = self.render(write).await?;
        Ok(shares::hold(bytes.into(), Arc::new(memory)))
    }

    async fn render(
        self,
        write: impl FnOnce(&RequestRecord, &mut Vec<u8>) + Send + 'static,
    ) -> Result<(Vec<u8>, MemoryPermit), AppError> {
        let Self { record, context, account, mut memory } = self;
        let bytes = record.heap_bytes();
        let work = move |_: &_| {
            let mut out = Vec::new();
            write(&record, &mut out);
            Ok(out)
        };
        let out = parse(&context.services, account, bytes, work).await?;
        memory.correct(out.len());
        Ok((out, memory))
    }
}

/// The completion of a request. Fails with [`Refusal::RequestFailed`] or [`Refusal::RequestCancelled`] if it ended so.
pub(super) fn completion_of(request: &RequestRecord) -> Result<&Bytes, Refusal> {
    match (request.summary.state.status(), &request.result) {
        (RequestStatus::Completed, Some(completion)) => Ok(completion),
        (RequestStatus::Failed, Some(failure)) => Err(Refusal::RequestFailed(read_failure(failure))),
        _ => Err(Refusal::RequestCancelled(request.summary.id)),
    }
}

/// The error of a failed request.
fn read_failure(result: &[u8]) -> FailureBody {
    let failed: Result<FailedResult, _> = serde_json::from_slice(result);
    failed.map(|failed| failed.error).unwrap_or_else(|_| FailureBody {
        message: "the request failed".to_owned(),
        kind: "server_error".to_owned(),
        code: INVALID_RESPONSE.to_owned(),
        param: None,
    })
}
