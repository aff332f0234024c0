//! The content of files.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{self, InputBatch};
use overnight_app::files::{FileContent, PIECE_BYTES};
use overnight_domain::files::{BatchEndpoint, BatchFile};
use overnight_domain::ids::BatchId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::openai::files::parse_batch_file;
use overnight_wire::openai::outputs::{write_answer, write_error, write_input, write_response_answer};

use super::ids::file_id;
use crate::answers;
use crate::calls::Caller;
use crate::context::Shared;
use crate::errors::Answer;
use crate::json_lines;
use crate::shares::{self, Buffer, Client};

/// Clients accept any type; browsers save this one as a file.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/octet-stream");

type WriteLine = fn(&RequestRecord, &mut Vec<u8>);

/// The content of a file. That of a batch has the lines available now.
pub(super) async fn get(State(context): State<Shared>, caller: Caller, Path(id): Path<String>) -> Answer {
    let account = caller.0;
    match parse_batch_file(&id) {
        None => {
            Ok(stored(&context, account, FileContent::open(&context.services, account, file_id(&id)).await?))
        }
        Some((file, batch)) => {
            let (batch, pages) = file_batches::read_file(&context.services, account, batch, file).await?;
            let write = line_of(file, &batch);
            Ok(json_lines::answer(&context, account, pages, CONTENT_TYPE, write).await?)
        }
    }
}

/// A batch, and the length of this file of it. Until the batch has ended and the length was asked for once, reads all of its requests.
pub(super) async fn measure(
    context: &Shared,
    account: AccountKey,
    file: BatchFile,
    id: BatchId,
) -> Result<(InputBatch, i64), AppError> {
    let (batch, pages) = file_batches::read_file(&context.services, account, id, file).await?;
    if let Some(bytes) = batch.lengths.of(file) {
        return Ok((batch, bytes));
    }
    let bytes = json_lines::measure(context, account, pages, line_of(file, &batch)).await?;
    file_batches::keep_length(&context.services, account, &batch, file, bytes).await?;
    Ok((batch, bytes))
}

fn line_of(file: BatchFile, batch: &InputBatch) -> WriteLine {
    match file {
        BatchFile::Input => write_input,
        BatchFile::Output => match batch.input.as_ref().map(|input| input.endpoint) {
            Some(BatchEndpoint::Responses) => write_response_answer,
            Some(
                BatchEndpoint::ChatCompletions
                | BatchEndpoint::Completions
                | BatchEndpoint::Embeddings
                | BatchEndpoint::Messages,
            )
            | None => write_answer,
        },
        BatchFile::Errors => write_error,
    }
}

/// An uploaded file on its way to a client.
struct Stored {
    context: Shared,
    account: AccountKey,
    content: FileContent,
}

impl Stored {
    /// The next piece, once there is memory for it.
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, AppError> {
        let client = Client::Account(self.account);
        let memory = self.context.shares.memory(Buffer::Responses, client, PIECE_BYTES).await;
        let mut memory = memory.ok_or_else(AppError::stopping)?;
        let Some(piece) = self.content.next_piece().await? else { return Ok(None) };
        memory.correct(piece.content.len());
        Ok(Some((shares::hold(piece.content, Arc::new(memory)), self)))
    }
}

fn stored(context: &Shared, account: AccountKey, content: FileContent) -> Response {
    let length = content.bytes;
    let stored = Stored { context: Arc::clone(context), account, content };
    let chunks = stream::try_unfold(stored, Stored::next_chunk);
    let mut response = answers::typed(StatusCode::OK, CONTENT_TYPE, Body::from_stream(chunks));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}
