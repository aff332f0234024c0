//! Completing uploads. The parts are read in the client's order, and checked and stored like a file. They are dropped in the transaction
//! that creates the file, so a failed completion leaves the upload unchanged.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use md5::Md5;
use overnight_domain::faults::codes;
use overnight_domain::ids::{PartId, UploadId};
use overnight_domain::scheduler::AccountKey;
use overnight_domain::uploads::{PARTS_MAX, UploadRecord, UploadStatus};
use overnight_store::files::{self, Completed, FoundPart, FoundUpload};
use overnight_store::idempotency_keys::{self, Guard, Guarded};
use sha2::{Digest, Sha256};

use super::{find, has_ended};
use crate::Services;
use crate::errors::AppError;
use crate::files::coming::given_up;
use crate::files::{FileTerms, Upload};
use crate::idempotency::{self, Answered, Repeatable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    pub upload: UploadId,
    /// In the client's order.
    pub parts: Vec<PartId>,
    /// The expected MD5 of all parts together.
    pub md5: Option<[u8; 16]>,
}

pub enum BegunCompletion {
    Begun(Box<Completing>),
    /// The same call completed the upload before: its answer.
    Done(Answered<UploadRecord>),
}

/// An upload that is being completed. If it is dropped unfinished, the upload stays pending.
pub struct Completing {
    services: Services,
    account: AccountKey,
    found: FoundUpload,
    digest: [u8; 32],
    guard: Option<Guard<UploadRecord>>,
    file: Upload,
    md5: Option<([u8; 16], Md5)>,
    parts: VecDeque<FoundPart>,
    /// The next piece of the first part.
    place: i64,
    /// The remaining bytes of the parts.
    rest: i64,
    /// The upload's record if the same completion finished earlier.
    before: Option<UploadRecord>,
}

impl Completing {
    /// Begins to complete an upload. Fails with [`AppError::AlreadyEnded`] if it was completed with other arguments, was cancelled or has
    /// expired, and with [`AppError::Invalid`] if a part is unknown or named twice, or the lengths do not add up.
    pub async fn begin(
        services: &Services,
        account: AccountKey,
        completion: Completion,
        call: Option<Repeatable<UploadRecord>>,
    ) -> Result<BegunCompletion, AppError> {
        let guard = idempotency::guard_of(services, account, completion.digest(), call).await?;
        let digest = services.store.content_digest(account, completion.digest()).await?;
        if let Some(guard) = &guard
            && let Some(recalled) = idempotency_keys::find(&services.store, account, &guard.key).await?
        {
            return idempotency::response(recalled).map(Answered::Repeat).map(BegunCompletion::Done);
        }
        let Completion { upload, parts, md5 } = completion;
        let found = find(services, account, upload).await?;
        let bytes = found.record.bytes;
        let chosen = match found.record.status {
            UploadStatus::Pending => {
                choose(&parts, files::list_parts(&services.store, found.seq).await?, bytes)
            }
            _ => Ok(VecDeque::new()),
        };
        // Parts are dropped when their upload ends: if one is missing, the same call may just have completed it.
        let found = if chosen.is_err() { find(services, account, upload).await? } else { found };
        if found.record.status != UploadStatus::Pending {
            let record = completed_before(services, account, found, &digest).await?;
            return Ok(BegunCompletion::Done(Answered::New(record)));
        }
        let (parts, rest) = (chosen?, bytes);
        let file = Upload::begin(services, account).await?;
        let (services, md5) = (services.clone(), md5.map(|expected| (expected, Md5::default())));
        let begun =
            Self { services, account, found, digest, guard, file, md5, parts, place: 0, rest, before: None };
        Ok(BegunCompletion::Begun(Box::new(begun)))
    }

    /// The bytes of the unfinished line and of lines that wait to be stored.
    pub fn held_bytes(&self) -> usize {
        self.file.held_bytes()
    }

    /// The next piece of the parts; `None` at their end. Fails with [`AppError::AlreadyEnded`] if the upload has ended meanwhile.
    pub async fn next_piece(&mut self) -> Result<Option<Bytes>, AppError> {
        while let Some(part) = self.parts.front() {
            let Some(piece) = files::next_piece(&self.services.store, part.file, self.place).await? else {
                self.parts.pop_front();
                self.place = 0;
                continue;
            };
            self.place = piece.place + 1;
            self.rest -= piece.content.len() as i64;
            return Ok(Some(piece.content));
        }
        if self.rest == 0 {
            return Ok(None);
        }
        // Parts are dropped when their upload ends.
        let found = find(&self.services, self.account, self.found.record.id).await?;
        if found.record.status == UploadStatus::Pending {
            return Err(given_up());
        }
        self.before = Some(completed_before(&self.services, self.account, found, &self.digest).await?);
        Ok(None)
    }

    pub async fn write(&mut self, piece: &[u8]) -> Result<(), AppError> {
        if let Some((_, md5)) = &mut self.md5 {
            md5::Digest::update(md5, piece);
        }
        self.file.write(piece).await
    }

    /// Creates the file. Fails like [`Upload::finish`] and [`Completing::begin`], and with [`AppError::Invalid`] if the MD5 differs.
    pub async fn finish(self) -> Result<Answered<UploadRecord>, AppError> {
        let Self { services, account: _, found, digest, guard, mut file, md5, before, .. } = self;
        if let Some(record) = before {
            return Ok(Answered::New(record));
        }
        if let Some((expected, md5)) = md5
            && <[u8; 16]>::from(md5::Digest::finalize(md5)) != expected
        {
            return Err(AppError::invalid(
                "md5",
                codes::OUT_OF_RANGE,
                "is not that of the parts in this order",
            ));
        }
        let terms = FileTerms { name: found.record.name, lasts_ms: found.file_lasts_ms };
        let completion = files::Completion { id: found.record.id, file: file.end(terms).await?, digest };
        match files::complete(&services.store, completion, guard, services.clock.now()).await? {
            Guarded::Done(Completed::Completed(record)) => {
                file.keep();
                Ok(Answered::New(record))
            }
            Guarded::Done(Completed::Before(record)) => Ok(Answered::New(record)),
            Guarded::Done(Completed::Ended(status)) => Err(has_ended(status)),
            Guarded::Done(Completed::Gone) => Err(given_up()),
            Guarded::Recalled(recalled) => idempotency::response(recalled).map(Answered::Repeat),
        }
    }
}

impl Completion {
    /// Equal for equal completions.
    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for part in &self.parts {
            digest.update(part.to_bytes());
        }
        if let Some(md5) = self.md5 {
            digest.update(b"md5");
            digest.update(md5);
        }
        digest.finalize().into()
    }
}

/// The chosen parts in order, which must have `bytes` in total.
fn choose(ids: &[PartId], found: Vec<FoundPart>, bytes: i64) -> Result<VecDeque<FoundPart>, AppError> {
    if ids.is_empty() || ids.len() > PARTS_MAX {
        let message = format!("must name 1 to {PARTS_MAX} parts");
        return Err(AppError::invalid("part_ids", codes::OUT_OF_RANGE, &message));
    }
    let mut found: HashMap<u128, FoundPart> = found.into_iter().map(|part| (part.id.bits(), part)).collect();
    let take = |(place, id): (usize, &PartId)| {
        found.remove(&id.bits()).ok_or_else(|| {
            let param = format!("part_ids[{place}]");
            AppError::invalid(&param, codes::UNKNOWN_VALUE, "must be a part of this upload, named once")
        })
    };
    let parts: VecDeque<FoundPart> = ids.iter().enumerate().map(take).collect::<Result<_, AppError>>()?;
    let named: i64 = parts.iter().map(|part| part.bytes).sum();
    if named != bytes {
        let message =
            format!("must name parts of {bytes} bytes, the length of the upload, and not of {named}");
        return Err(AppError::invalid("part_ids", codes::OUT_OF_RANGE, &message));
    }
    Ok(parts)
}

/// The upload's record if the same completion ended it.
async fn completed_before(
    services: &Services,
    account: AccountKey,
    found: FoundUpload,
    digest: &[u8; 32],
) -> Result<UploadRecord, AppError> {
    match found.record.status {
        UploadStatus::Completed if found.digest.as_deref() == Some(digest) => {
            with_file(services, account, found).await
        }
        ended => Err(has_ended(ended)),
    }
}

async fn with_file(
    services: &Services,
    account: AccountKey,
    FoundUpload { file, record, .. }: FoundUpload,
) -> Result<UploadRecord, AppError> {
    let file = match file {
        Some(id) => files::find(&services.store, account, id).await?.map(|found| found.record),
        None => None,
    };
    Ok(UploadRecord { file, ..record })
}
