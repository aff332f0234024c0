//! Batches of messages, whose requests come one after the other in the body of one call. Each becomes a line of a file, which the batch is
//! filled from; the file is deleted with the call, and its lines stay until they are requests.
//!
//! A batch of messages comes in one body. `wire::anthropic::elements` finds where each request in it ends while it comes, so that one
//! of them is in memory. Each becomes a line of a file with its params as they were sent, and the batch is filled from that file like
//! one of OpenAI's (`app/file_batches/coming.rs`, `app/files/lines.rs`); the file is deleted with the call, and its lines stay until
//! they are requests. A line whose params are refused becomes a request that fails in the write that stores it.

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::json::{Json, ObjectWriter, minimize};
use overnight_domain::scheduler::AccountKey;
use overnight_wire::anthropic::elements::Element;
use sha2::{Digest, Sha256};

use super::{FromFile, create_of_file};
use crate::app::errors::{AppError, InputFault, InvalidInput};
use crate::app::files::{self, FileTerms, Upload};
use crate::app::idempotency::{Answered, Repeatable};
use crate::app::parsing::parse;
use crate::app::{Services, finish};
use crate::store::batches::InputBatch;

/// How deep an element stands in the body.
const ELEMENT_DEPTH: u32 = 2;

/// The name of the file. It lasts for so long where the service ends before the batch is made, in milliseconds.
const FILE: &str = "requests.jsonl";
const FILE_LASTS_MS: i64 = 60 * 60_000;

/// A batch that comes. Dropped before it is finished, it is given up.
pub struct ComingBatch {
    services: Services,
    account: AccountKey,
    upload: Upload,
    content: Sha256,
    count: usize,
}

impl ComingBatch {
    /// Begins a batch.
    ///
    /// # Errors
    ///
    /// [`AppError::QuotaExceeded`] where the account stores all that it may; what the store could not do.
    pub async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        let upload = Upload::begin_for_messages(services, account).await?;
        Ok(Self { services: services.clone(), account, upload, content: Sha256::new(), count: 0 })
    }

    /// Takes in the next request: the text of an element of the body.
    ///
    /// # Errors
    ///
    /// [`AppError::Invalid`] where it is no request, or one too many; [`AppError::QuotaExceeded`] where the account stores all that it may.
    /// Params that are refused are no error.
    pub async fn add(&mut self, element: Vec<u8>) -> Result<(), AppError> {
        let requests_max = self.services.config().limits.batch_requests;
        if self.count == requests_max {
            let message = format!("must hold at most {requests_max} requests");
            return Err(AppError::invalid("requests", codes::OUT_OF_RANGE, &message));
        }
        self.content.update(&element);
        let (place, bytes) = (self.count, element.len());
        let line = move |_: &Services| line(place, &element);
        let line = parse(&self.services, self.account, bytes, line).await?;
        self.count += 1;
        self.upload.write(&line).await
    }

    /// Makes the batch of what came.
    ///
    /// # Errors
    ///
    /// [`AppError::Invalid`] where nothing came, or a `custom_id` stands twice; [`AppError::InsufficientCredits`] where the account cannot
    /// pay the most that the requests may cost; [`AppError::IdempotencyKeyReused`] where the call has the key of another.
    pub async fn finish(
        self,
        call: Option<Repeatable<InputBatch>>,
    ) -> Result<Answered<InputBatch>, AppError> {
        if self.count == 0 {
            return Err(AppError::invalid("requests", codes::OUT_OF_RANGE, "must hold at least one request"));
        }
        let Self { services, account, upload, content, .. } = self;
        let terms = FileTerms { name: FILE.to_owned(), lasts_ms: Some(FILE_LASTS_MS) };
        // Carried through: a caller who leaves here leaves no file behind.
        finish(async move {
            let Answered::New(file) = upload.finish(terms, None).await? else {
                return Err(AppError::stopping());
            };
            let made = match first_fault(&file) {
                Some(fault) => Err(fault),
                None => {
                    let from = FromFile {
                        file: file.id,
                        endpoint: BatchEndpoint::Messages,
                        webhook: None,
                        metadata: Some(b"{}".to_vec()),
                    };
                    create_of_file(&services, account, from, content.finalize().into(), call).await
                }
            };
            if let Err(error) = files::delete(&services, account, file.id).await {
                tracing::debug!(%error, "the file of a batch is deleted once it has lasted");
            }
            made
        })
        .await
    }
}

fn line(place: usize, element: &[u8]) -> Result<Bytes, AppError> {
    let refuse = |words: String| {
        let detail = InputFault { param: String::new(), id: None, code: codes::INVALID_LINE, message: words };
        AppError::Invalid(InvalidInput { details: vec![detail], total: None })
    };
    let text = minimize(element, ELEMENT_DEPTH)
        .map_err(|error| refuse(format!("requests.{place}: cannot be read as JSON, {error}")))?;
    let Element { custom_id, params } =
        Element::read(text.as_json()).map_err(|words| refuse(format!("requests.{place}{words}")))?;
    let mut line = ObjectWriter::with_capacity(params.as_str().len() + 160);
    line.string("custom_id", &custom_id);
    line.string("method", "POST");
    line.string("url", BatchEndpoint::Messages.as_str());
    line.json("body", params);
    let mut line = line.finish().into_string();
    line.push('\n');
    Ok(line.into())
}

/// Why a file is none that a batch can be made of: what is wrong with its first bad line.
fn first_fault(file: &FileRecord) -> Option<AppError> {
    if file.fault_count == 0 {
        return None;
    }
    let faults = file.faults.as_deref().and_then(|faults| Json::from_stored(faults).ok());
    let first = faults.and_then(|faults| faults.elements()?.next()?.to_object());
    let text = |key: &str| first.as_ref()?.get(key)?.decode_string().map(String::from);
    let line: Option<i64> =
        first.as_ref().and_then(|first| first.get("line")?.as_integer_text()?.parse().ok());
    let place = line.map_or(0, |line| line - 1);
    let message = text("message").unwrap_or_else(|| "is invalid".to_owned());
    let param = text("param").unwrap_or_default();
    let rest = message.strip_prefix(param.as_str()).unwrap_or(&message).trim_start().to_owned();
    let path =
        if param.is_empty() { format!("requests.{place}") } else { format!("requests.{place}.{param}") };
    let message = format!("{path}: {}", rest.replace("an earlier line", "an earlier request"));
    let detail = InputFault { param: String::new(), id: None, code: codes::INVALID_LINE, message };
    Some(AppError::Invalid(InvalidInput { details: vec![detail], total: None }))
}
