//! The content of files.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream;
use overnight_app::batches;
use overnight_app::errors::AppError;
use overnight_app::file_batches::{self, InputBatch, OutputKind};
use overnight_app::files::{FileContent, PIECE_BYTES};
use overnight_domain::files::BatchEndpoint;
use overnight_domain::ids::BatchId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::openai::files::BatchFile;
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
    match BatchFile::parse(&id) {
        None => {
            Ok(stored(&context, account, FileContent::open(&context.services, account, file_id(&id)).await?))
        }
        Some((BatchFile::Input, batch)) => {
            let pages = batches::list_results(&context.services, account, batch).await?;
            Ok(json_lines::answer(&context, account, pages, CONTENT_TYPE, write_input).await?)
        }
        Some((kind, batch)) => {
            let (batch, pages) =
                file_batches::outputs(&context.services, account, batch, output_kind(kind)).await?;
            let write = line_of(kind, &batch);
            Ok(json_lines::answer(&context, account, pages, CONTENT_TYPE, write).await?)
        }
    }
}

/// A batch, and the length of its output file: reads all of its requests.
pub(super) async fn measure(
    context: &Shared,
    account: AccountKey,
    kind: BatchFile,
    id: BatchId,
) -> Result<(InputBatch, i64), AppError> {
    let (batch, pages) = match kind {
        BatchFile::Input => {
            let batch = file_batches::get_with_input(&context.services, account, id).await?;
            (batch, batches::list_results(&context.services, account, id).await?)
        }
        kind => file_batches::outputs(&context.services, account, id, output_kind(kind)).await?,
    };
    let bytes = json_lines::measure(context, account, pages, line_of(kind, &batch)).await?;
    Ok((batch, bytes))
}

fn line_of(kind: BatchFile, batch: &InputBatch) -> WriteLine {
    match kind {
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

/// The kind of a batch's output file; errors if the file is not an output.
pub(super) const fn output_kind(kind: BatchFile) -> OutputKind {
    match kind {
        BatchFile::Output => OutputKind::Answers,
        BatchFile::Input | BatchFile::Errors => OutputKind::Errors,
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
