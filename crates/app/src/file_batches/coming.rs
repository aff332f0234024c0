//! Batches of messages, whose requests arrive one after the other in the body of one call.
//!
//! `wire::anthropic::elements` finds the end of each request while the body arrives, so only one is in memory. Each becomes a line of a
//! file with its params as they were sent. The batch is filled from that file like a batch of OpenAI's (`app/files/lines.rs`). The file is
//! deleted with the call, but its lines stay until they are requests. A line whose params are refused becomes a request that fails in the
//! write that stores it.

use bytes::Bytes;
use overnight_domain::faults::codes;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::json::{Json, ObjectWriter, minimize};
use overnight_domain::scheduler::AccountKey;
use overnight_store::batches::InputBatch;
use overnight_wire::anthropic::elements::Element;
use sha2::{Digest, Sha256};

use super::{FromFile, create_of_file};
use crate::errors::{AppError, InputFault, InvalidInput};
use crate::files::{self, FileTerms, Upload};
use crate::idempotency::{Answered, Repeatable};
use crate::parsing::parse;
use crate::{Services, finish};

/// The depth of an element in the body.
const ELEMENT_DEPTH: u32 = 2;

/// The name of the file. It is deleted after this many milliseconds if the service ends before the batch is created.
const FILE: &str = "requests.jsonl";
const FILE_LASTS_MS: i64 = 60 * 60_000;

/// A batch that is being received. Dropping it unfinished discards it.
pub struct ComingBatch {
    services: Services,
    account: AccountKey,
    upload: Upload,
    content: Sha256,
    count: usize,
}

impl ComingBatch {
    /// Begins a batch. Fails with [`AppError::QuotaExceeded`] if the account has no room.
    pub async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        let upload = Upload::begin_for_messages(services, account).await?;
        Ok(Self { services: services.clone(), account, upload, content: Sha256::new(), count: 0 })
    }

    /// Accepts the next request: the text of an element of the body. Refused params are no error here. Fails with [`AppError::Invalid`] if
    /// the element is malformed or exceeds the number of requests.
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

    /// Creates the batch. Fails with [`AppError::Invalid`] if it is empty or repeats a `custom_id`, and with
    /// [`AppError::InsufficientCredits`] if the account cannot pay the maximum cost.
    pub async fn finish(
        self,
        call: Option<Repeatable<InputBatch>>,
    ) -> Result<Answered<InputBatch>, AppError> {
        if self.count == 0 {
            return Err(AppError::invalid("requests", codes::OUT_OF_RANGE, "must hold at least one request"));
        }
        let Self { services, account, upload, content, .. } = self;
        let terms = FileTerms { name: FILE.to_owned(), lasts_ms: Some(FILE_LASTS_MS) };
        // Runs to completion: a caller that leaves here leaves no file behind.
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

/// The fault of a file's first bad line, which prevents a batch.
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
