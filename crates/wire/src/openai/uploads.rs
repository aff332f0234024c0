//! Uploads in parts.

use overnight_domain::uploads::{PartRecord, UploadRecord};

use super::files::{BATCH, file};
use crate::json::{Second, Value as _, object};

/// Appends an upload with the file that it became.
pub fn write_upload(upload: &UploadRecord, out: &mut Vec<u8>) {
    object! {
        "id": upload.id,
        "object": "upload",
        "bytes": upload.bytes,
        "created_at": Second(upload.created_at),
        "expires_at": Second(upload.expires_at),
        "filename": upload.name,
        "purpose": BATCH,
        "status": upload.status.as_str(),
        "file": upload.file.as_ref().map(file),
    }
    .append(out);
}

/// Appends a part of an upload.
pub fn write_part(part: &PartRecord, out: &mut Vec<u8>) {
    object! {
        "id": part.id,
        "object": "upload.part",
        "created_at": Second(part.created_at),
        "upload_id": part.upload,
    }
    .append(out);
}
