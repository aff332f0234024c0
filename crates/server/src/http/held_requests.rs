//! Requests that are read for an answer. Their memory is taken from the share of their account before they are read, so that many
//! that end at once do not fill that of the process.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use axum::response::Response;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::results::{FailedResult, FailureBody};

use super::answers;
use super::context::Context;
use super::errors::Refusal;
use super::shares::{self, Buffer, Client, MemoryPermit};
use crate::app::errors::AppError;
use crate::app::requests;

/// Memory that is taken before a record is read, whose length nobody knows by then: that of the longest result.
const RECORD_BYTES: usize = 16 << 20;

/// A request with the memory that it takes of its account's share.
pub(super) struct HeldRequest {
    pub(super) record: RequestRecord,
    memory: MemoryPermit,
}

impl HeldRequest {
    /// Reads it, once there is memory for the longest.
    ///
    /// # Errors
    ///
    /// [`AppError::NotFound`] where it is none of the account's.
    pub(super) async fn read(
        context: &Context,
        account: AccountKey,
        id: RequestId,
    ) -> Result<Self, AppError> {
        let memory = context.shares.memory(Buffer::Responses, Client::Account(account), RECORD_BYTES).await;
        let mut memory = memory.ok_or_else(AppError::stopping)?;
        let record = requests::get_record(&context.services, account, id).await?;
        memory.correct(record.heap_bytes());
        Ok(Self { record, memory })
    }

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
