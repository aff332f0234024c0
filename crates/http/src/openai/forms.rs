//! Multipart forms with files and parts of files, and their memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use futures_util::{StreamExt, stream};
use overnight_app::errors::AppError;
use overnight_app::files::PIECE_BYTES;
use overnight_domain::faults::codes;
use overnight_domain::scheduler::AccountKey;

use crate::bodies::Buffers;
use crate::context::Shared;
use crate::counters;
use crate::errors::Refusal;
use crate::shares::{BulkPermit, Client, MemoryPermit};

/// The longest field other than the file, in bytes.
const FIELD_BYTES_MAX: usize = 4 << 10;

/// The memory of an upload, except for a long line.
const UPLOAD_BYTES: usize = 2 * PIECE_BYTES;

/// The maximum bytes of a form that arrive before a field or chunk is read, excluding the last: the longest head of a part.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The maximum bytes of a form without its file.
const BESIDE_BYTES_MAX: u64 = 2 * HEAD_BYTES_MAX as u64;

/// The right to store a file, with the memory for all but its long lines.
pub(super) struct Storing {
    pub(super) buffers: Buffers,
    /// Received but unread bytes of the form.
    unread: Arc<AtomicUsize>,
    /// The bytes of the file at least, as the length of the form announces.
    pub(super) announced: usize,
    _permit: BulkPermit,
    _memory: Option<MemoryPermit>,
}

impl Storing {
    /// Waits for memory.
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
        Ok(Self { buffers, unread: Arc::default(), announced: 0, _permit: permit, _memory: memory })
    }

    /// Begins to read a form.
    pub(super) async fn of_form(
        context: &Shared,
        account: AccountKey,
        request: Request,
    ) -> Result<(Self, Multipart), Refusal> {
        let (parts, body) = request.into_parts();
        let mut storing = Self::begin(context, account, Buffers::of(&parts, context)).await?;
        let announced = body.size_hint().lower().saturating_sub(BESIDE_BYTES_MAX);
        storing.announced = usize::try_from(announced).unwrap_or(usize::MAX);
        let body = bounded(body, Arc::clone(&storing.unread));
        let multipart = Multipart::from_request(Request::from_parts(parts, body), context).await;
        let multipart =
            multipart.map_err(|_| Refusal::UnsupportedMediaType("the body must be multipart/form-data"))?;
        Ok((storing, multipart))
    }

    pub(super) async fn next_field<'m>(
        &self,
        multipart: &'m mut Multipart,
    ) -> Result<Option<Field<'m>>, Refusal> {
        self.read(multipart.next_field().await)
    }

    pub(super) async fn chunk(&self, field: &mut Field<'_>) -> Result<Option<Bytes>, Refusal> {
        self.read(field.chunk().await)
    }

    /// The text of a field other than the file.
    pub(super) async fn short_text(&self, field: &mut Field<'_>) -> Result<String, Refusal> {
        let mut text = Vec::new();
        while let Some(chunk) = self.chunk(field).await? {
            text.extend_from_slice(&chunk);
            if text.len() > FIELD_BYTES_MAX {
                let message =
                    format!("has a field beside the file that is longer than {FIELD_BYTES_MAX} bytes");
                return Err(AppError::invalid("", codes::OUT_OF_RANGE, &message).into());
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn read<T>(&self, read: Result<T, MultipartError>) -> Result<T, Refusal> {
        match read {
            Ok(read) => {
                self.unread.store(0, Ordering::Relaxed);
                Ok(read)
            }
            Err(_) if self.unread.load(Ordering::Relaxed) > HEAD_BYTES_MAX => {
                let message = format!("has a part whose head is longer than {HEAD_BYTES_MAX} bytes");
                Err(AppError::invalid("", codes::OUT_OF_RANGE, &message).into())
            }
            Err(error) => {
                let message = format!("cannot be read as multipart/form-data: {error}");
                Err(AppError::invalid("", codes::INVALID_ENCODING, &message).into())
            }
        }
    }
}

/// The body of a form, one frame at a time. Fails if too much of it is unread, because the form reader keeps a part's whole head and scans
/// it at each frame.
fn bounded(body: Body, unread: Arc<AtomicUsize>) -> Body {
    let (mut frames, mut is_due) = (body.into_data_stream(), false);
    Body::from_stream(stream::poll_fn(move |context| {
        if unread.load(Ordering::Relaxed) > HEAD_BYTES_MAX {
            return Poll::Ready(Some(Err(axum::Error::new(io::Error::other("too much is unread")))));
        }
        if !is_due {
            // The reader takes all available frames before it reads any.
            is_due = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = ready!(frames.poll_next_unpin(context));
        is_due = false;
        if let Some(Ok(frame)) = &frame {
            unread.fetch_add(frame.len(), Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }))
}

/// The memory of a line that is longer than an upload's own memory.
pub(super) struct LineMemory<'s> {
    storing: &'s Storing,
    bytes: usize,
    permit: Option<MemoryPermit>,
}

impl<'s> LineMemory<'s> {
    /// Holds no memory yet; it will be `bytes`.
    pub(super) const fn new(storing: &'s Storing, bytes: usize) -> Self {
        Self { storing, bytes, permit: None }
    }

    /// Takes or returns memory for the held bytes of a file.
    pub(super) async fn make_room(&mut self, held_bytes: usize) -> Result<(), AppError> {
        if held_bytes <= UPLOAD_BYTES {
            self.permit = None;
        } else if self.permit.is_none() {
            self.permit = self.storing.buffers.take(self.bytes).await?;
        }
        Ok(())
    }
}
