//! Parts of uploads, stored while they arrive. Their content is checked when the upload is completed: lines may span parts.

use bytes::BytesMut;
use overnight_domain::faults::codes;
use overnight_domain::ids::UploadId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PART_BYTES_MAX, PARTS_MAX, PartRecord, UploadStatus};
use overnight_store::files::{self, Attached, NewPart};
use overnight_store::idempotency_keys::Guarded;
use sha2::{Digest, Sha256};

use super::{find, has_ended, refused};
use crate::errors::AppError;
use crate::files::PIECE_BYTES;
use crate::files::coming::{ComingFile, given_up};
use crate::idempotency::{self, Answered, Repeatable};
use crate::{Services, finish};

/// A part that is being received. Dropping it unfinished discards it.
pub struct ComingPart {
    services: Services,
    account: AccountKey,
    upload: UploadId,
    /// The bytes of all parts of the upload together.
    bytes_max: i64,
    file: ComingFile,
    /// Received but not stored.
    rest: BytesMut,
    bytes: usize,
    content: Sha256,
}

impl ComingPart {
    /// Begins a part of an upload. A possible repeat is accepted whatever the current state of the upload. Otherwise fails with
    /// [`AppError::AlreadyEnded`] if the upload accepts no more parts.
    pub async fn begin(
        services: &Services,
        account: AccountKey,
        upload: UploadId,
        may_be_repeat: bool,
    ) -> Result<Self, AppError> {
        let found = find(services, account, upload).await?.record;
        match found.status {
            UploadStatus::Pending => {}
            _ if may_be_repeat => {}
            ended => return Err(has_ended(ended)),
        }
        Ok(Self {
            services: services.clone(),
            account,
            upload,
            bytes_max: found.parts_bytes_max(),
            file: ComingFile::begin(services, account).await?,
            rest: BytesMut::new(),
            bytes: 0,
            content: Sha256::new(),
        })
    }

    /// Fails with [`AppError::Invalid`] if a part of this many bytes is too long, for any upload or for this one.
    pub fn check_length(&self, bytes: usize) -> Result<(), AppError> {
        if bytes > PART_BYTES_MAX {
            let message = format!("must be at most {PART_BYTES_MAX} bytes");
            return Err(AppError::invalid("data", codes::OUT_OF_RANGE, &message));
        }
        if bytes as i64 > self.bytes_max { Err(too_long(self.bytes_max)) } else { Ok(()) }
    }

    /// Accepts the next bytes; at most a piece is kept in memory. Fails like [`check_length`](Self::check_length).
    pub async fn write(&mut self, content: &[u8]) -> Result<(), AppError> {
        self.bytes += content.len();
        self.check_length(self.bytes)?;
        self.content.update(content);
        self.rest.extend_from_slice(content);
        while self.rest.len() >= PIECE_BYTES {
            let piece = self.rest.split_to(PIECE_BYTES).freeze();
            self.file.append(piece).await?;
        }
        Ok(())
    }

    /// Adds the part to its upload. Fails like [`ComingPart::begin`] and [`ComingPart::write`], and with [`AppError::Invalid`] if it is
    /// empty, or the upload has too many parts or bytes.
    pub async fn finish(
        mut self,
        call: Option<Repeatable<PartRecord>>,
    ) -> Result<Answered<PartRecord>, AppError> {
        if self.bytes == 0 {
            return Err(AppError::invalid("data", codes::OUT_OF_RANGE, "must not be empty"));
        }
        if !self.rest.is_empty() {
            let piece = self.rest.split().freeze();
            self.file.append(piece).await?;
        }
        let Self { services, account, upload, file, bytes, content, .. } = self;
        let guard = idempotency::guard_of(&services, account, content.finalize().into(), call).await?;
        let record = PartRecord { id: file.new.id.renamed(), created_at: file.new.created_at, upload };
        let part = NewPart { record, file: file.seq, account, bytes: bytes as i64 };
        // Runs to completion: an attached part is not discarded, even if the caller leaves.
        finish(async move {
            let attached = files::attach(&services.store, part, guard, services.clock.now()).await?;
            if let Guarded::Done(Attached::Attached(_)) = attached {
                file.keep();
            }
            answer(attached)
        })
        .await
    }
}

fn too_long(bytes_max: i64) -> AppError {
    refused(format!("the parts of the upload may hold {bytes_max} bytes together, three times its length"))
}

fn answer(attached: Guarded<Attached>) -> Result<Answered<PartRecord>, AppError> {
    match attached {
        Guarded::Done(Attached::Attached(record)) => Ok(Answered::New(record)),
        Guarded::Done(Attached::Ended(status)) => Err(has_ended(status)),
        Guarded::Done(Attached::TooMany) => {
            Err(refused(format!("the upload has {PARTS_MAX} parts, as many as it may")))
        }
        Guarded::Done(Attached::TooLong(bytes_max)) => Err(too_long(bytes_max)),
        Guarded::Done(Attached::Gone) => Err(given_up()),
        Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
    }
}
