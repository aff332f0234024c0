//! Files that are uploaded in parts, in any order, and are whole once the client says so.

use crate::files::FileRecord;
use crate::ids::{PartId, UploadId};

/// How long an upload accepts parts, in milliseconds.
pub const UPLOAD_LASTS_MS: i64 = 3_600_000;

/// The longest part, in bytes.
pub const PART_BYTES_MAX: usize = 64 << 20;

/// Maximum of parts of an upload.
pub const PARTS_MAX: usize = 1_024;

/// Maximum of an account's concurrent uploads.
pub const PENDING_UPLOADS_MAX: usize = 64;

/// Maximum of the parts' bytes, in multiples of the upload's length: clients repeat a part whose answer was lost, up to three times in all.
const TIMES_MAX: i64 = 3;

/// The state of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UploadStatus {
    /// It accepts parts.
    Pending,
    /// It has become a file.
    Completed,
    /// The client cancelled it.
    Cancelled,
    /// It was not completed in time.
    Expired,
}

impl UploadStatus {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// An upload in parts, as clients see it. Times are in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadRecord {
    /// Its identifier.
    pub id: UploadId,
    /// When it began.
    pub created_at: i64,
    /// Until when it accepts parts.
    pub expires_at: i64,
    /// The length of the file.
    pub bytes: i64,
    /// The name of the file.
    pub name: String,
    /// What became of it.
    pub status: UploadStatus,
    /// The file that it became; `None` unless it is completed, and if the file was deleted since.
    pub file: Option<FileRecord>,
}

impl UploadRecord {
    /// Maximum of its parts' bytes together.
    pub const fn parts_bytes_max(&self) -> i64 {
        self.bytes.saturating_mul(TIMES_MAX)
    }
}

/// A part of an upload. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartRecord {
    /// Its identifier.
    pub id: PartId,
    /// When the client began to send it.
    pub created_at: i64,
    /// Its upload.
    pub upload: UploadId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_its_name_on_the_wire() {
        use UploadStatus::{Cancelled, Completed, Expired, Pending};
        let names = [Pending, Completed, Cancelled, Expired].map(UploadStatus::as_str);
        assert_eq!(names, ["pending", "completed", "cancelled", "expired"]);
    }

    #[test]
    fn parts_may_hold_three_times_the_length_of_the_file() {
        let upload = |bytes| UploadRecord {
            id: UploadId::from_bits(1),
            created_at: 0,
            expires_at: UPLOAD_LASTS_MS,
            bytes,
            name: "lines.jsonl".to_owned(),
            status: UploadStatus::Pending,
            file: None,
        };
        assert_eq!([0, 5, i64::MAX].map(|bytes| upload(bytes).parts_bytes_max()), [0, 15, i64::MAX]);
    }
}
