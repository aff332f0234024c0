//! Identifiers as clients send them. A text that is none becomes the identifier zero, which nothing has.

use overnight_domain::ids::{BatchId, FileId, UploadId};

/// The identifier of a file.
pub(super) fn file_id(text: &str) -> FileId {
    FileId::parse(text).unwrap_or(FileId::from_bits(0))
}

/// The identifier of a batch.
pub(super) fn batch_id(text: &str) -> BatchId {
    BatchId::parse(text).unwrap_or(BatchId::from_bits(0))
}

/// The identifier of an upload.
pub(super) fn upload_id(text: &str) -> UploadId {
    UploadId::parse(text).unwrap_or(UploadId::from_bits(0))
}
