//! Identifiers from clients. A malformed one becomes zero, which is never found.

use overnight_domain::ids::{BatchId, FileId, UploadId};

pub(super) fn file_id(text: &str) -> FileId {
    FileId::parse(text).unwrap_or(FileId::from_bits(0))
}

pub(super) fn batch_id(text: &str) -> BatchId {
    BatchId::parse(text).unwrap_or(BatchId::from_bits(0))
}

pub(super) fn upload_id(text: &str) -> UploadId {
    UploadId::parse(text).unwrap_or(UploadId::from_bits(0))
}
