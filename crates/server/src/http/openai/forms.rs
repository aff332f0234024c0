//! Forms with which files and parts of files come, and the memory that these take.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use overnight_domain::faults::codes;
use overnight_domain::scheduler::AccountKey;

use crate::app::errors::AppError;
use crate::app::files::PIECE_BYTES;
use crate::http::bodies::Buffers;
use crate::http::context::Shared;
use crate::http::counters;
use crate::http::errors::Refusal;
use crate::http::shares::{BulkPermit, Client, MemoryPermit};

/// The longest field beside the file, in bytes.
const FIELD_BYTES_MAX: usize = 4 << 10;

/// What an upload holds at once, but for a long line.
const UPLOAD_BYTES: usize = 2 * PIECE_BYTES;

/// The right to store a file, with the memory for all but its long lines.
pub(super) struct Storing {
    pub(super) buffers: Buffers,
    _permit: BulkPermit,
    _memory: Option<MemoryPermit>,
}

impl Storing {
    /// Takes it, once there is memory.
    pub(super) async fn begin(
        context: &Shared,
        account: AccountKey,
        buffers: Buffers,
    ) -> Result<Self, Refusal> {
        let Some(permit) = context.shares.begin_bulk(Client::Account(account)) else {
            counters::count_over_share("bulk");
            return Err(Refusal::TooManyCalls);
        };
        let memory = buffers.take(UPLOAD_BYTES).await?;
        Ok(Self { buffers, _permit: permit, _memory: memory })
    }

    /// Begins to read a form.
    pub(super) async fn of_form(
        context: &Shared,
        account: AccountKey,
        request: Request,
    ) -> Result<(Self, Multipart), Refusal> {
        let (parts, body) = request.into_parts();
        let storing = Self::begin(context, account, Buffers::of(&parts, context)).await?;
        let multipart = Multipart::from_request(Request::from_parts(parts, body), context).await;
        let multipart =
            multipart.map_err(|_| Refusal::UnsupportedMediaType("the body must be multipart/form-data"))?;
        Ok((storing, multipart))
    }
}

/// The memory of a line that is longer than what an upload holds.
pub(super) struct LineMemory<'s> {
    storing: &'s Storing,
    bytes: usize,
    permit: Option<MemoryPermit>,
}

impl<'s> LineMemory<'s> {
    /// None yet; it will be so many bytes.
    pub(super) const fn new(storing: &'s Storing, bytes: usize) -> Self {
        Self { storing, bytes, permit: None }
    }

    /// Makes room for what is held of a file; gives back what is not needed.
    pub(super) async fn make_room(&mut self, held_bytes: usize) -> Result<(), AppError> {
        if held_bytes <= UPLOAD_BYTES {
            self.permit = None;
        } else if self.permit.is_none() {
            self.permit = self.storing.buffers.take(self.bytes).await?;
        }
        Ok(())
    }
}

/// A field beside the file.
pub(super) async fn short_text(field: &mut Field<'_>) -> Result<String, Refusal> {
    let mut text = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        text.extend_from_slice(&chunk);
        if text.len() > FIELD_BYTES_MAX {
            let message = format!("has a field beside the file that is longer than {FIELD_BYTES_MAX} bytes");
            return Err(AppError::invalid("", codes::OUT_OF_RANGE, &message).into());
        }
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// A form that broke off, or is none.
#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
pub(super) fn broken(error: MultipartError) -> Refusal {
    let message = format!("cannot be read as multipart/form-data: {error}");
    AppError::invalid("", codes::INVALID_ENCODING, &message).into()
}
