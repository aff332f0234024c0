//! Parts of uploads, stored while they come. What they hold is checked when the upload is completed: lines may begin in one part and end
//! in another.

use bytes::BytesMut;
use overnight_domain::faults::codes;
use overnight_domain::ids::UploadId;
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PART_BYTES_MAX, PARTS_MAX, PartRecord, UploadStatus};
use sha2::{Digest, Sha256};

use super::{find, has_ended, refused};
use crate::app::errors::AppError;
use crate::app::files::PIECE_BYTES;
use crate::app::files::coming::{ComingFile, given_up};
use crate::app::idempotency::{self, Answered, Repeatable};
use crate::app::{Services, finish};
use crate::store::files::{self, Attached, NewPart};
use crate::store::idempotency_keys::{Guard, Guarded, IdempotencyKey};

/// A part that comes. Dropped before it is finished, it is given up.
pub struct ComingPart {
    services: Services,
    account: AccountKey,
    upload: UploadId,
    file: ComingFile,
    /// What came and is not stored.
    rest: BytesMut,
    bytes: usize,
    content: Sha256,
}

impl ComingPart {
    /// Begins a part of an upload. One that may be a repeat is taken in for that, whatever has become of the upload since the first.
    ///
    /// # Errors
    ///
    /// [`AppError::NotFound`] where it is none of the account's, [`AppError::AlreadyEnded`] where it takes no more parts, and
    /// [`AppError::QuotaExceeded`] where the account stores all that it may.
    pub async fn begin(
        services: &Services,
        account: AccountKey,
        upload: UploadId,
        may_be_repeat: bool,
    ) -> Result<Self, AppError> {
        match find(services, account, upload).await?.record.status {
            UploadStatus::Pending => {}
            _ if may_be_repeat => {}
            ended => return Err(has_ended(ended)),
        }
        Ok(Self {
            services: services.clone(),
            account,
            upload,
            file: ComingFile::begin(services, account).await?,
            rest: BytesMut::new(),
            bytes: 0,
            content: Sha256::new(),
        })
    }

    /// Takes in what came next; at most a piece of it is kept in memory.
    ///
    /// # Errors
    ///
    /// [`AppError::Invalid`] where the part is longer than parts may be, [`AppError::QuotaExceeded`] where the account stores all that it may.
    pub async fn write(&mut self, content: &[u8]) -> Result<(), AppError> {
        self.bytes += content.len();
        if self.bytes > PART_BYTES_MAX {
            let message = format!("must be at most {PART_BYTES_MAX} bytes");
            return Err(AppError::invalid("data", codes::OUT_OF_RANGE, &message));
        }
        self.content.update(content);
        self.rest.extend_from_slice(content);
        while self.rest.len() >= PIECE_BYTES {
            let piece = self.rest.split_to(PIECE_BYTES).freeze();
            self.file.append(piece).await?;
        }
        Ok(())
    }

    /// Makes what came a part of its upload.
    ///
    /// # Errors
    ///
    /// As [`ComingPart::begin`] and [`ComingPart::write`]; [`AppError::Invalid`] where nothing came, or the upload has as many parts or bytes
    /// as it may; [`AppError::IdempotencyKeyReused`] where the call has the key of another.
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
        let guard = call.map(|Repeatable { hash, write }| {
            let digest = content.finalize().into();
            Guard { key: IdempotencyKey { hash, digest }, write }
        });
        let record = PartRecord { id: file.new.id.renamed(), created_at: file.new.created_at, upload };
        let part = NewPart { record, file: file.seq, account, bytes: bytes as i64 };
        // Carried through: what was attached is not given up, though the caller leaves.
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

fn answer(attached: Guarded<Attached>) -> Result<Answered<PartRecord>, AppError> {
    match attached {
        Guarded::Done(Attached::Attached(record)) => Ok(Answered::New(record)),
        Guarded::Done(Attached::Ended(status)) => Err(has_ended(status)),
        Guarded::Done(Attached::TooMany) => {
            Err(refused(format!("the upload has {PARTS_MAX} parts, as many as it may")))
        }
        Guarded::Done(Attached::TooLong(bytes_max)) => Err(refused(format!(
            "the parts of the upload may hold {bytes_max} bytes together, three times its length"
        ))),
        Guarded::Done(Attached::Gone) => Err(given_up()),
        Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
    }
}
