//! Uploads in parts.

use overnight_domain::uploads::{PartRecord, UploadRecord};

use super::files::write_file;
use crate::json::{push, push_id, push_integer, push_key, push_string, push_time};

/// Appends an upload, with the file that it became.
pub fn write_upload(upload: &UploadRecord, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(upload.id, out);
    push(",\"object\":\"upload\",\"bytes\":", out);
    push_integer(upload.bytes, out);
    push_key("created_at", out);
    push_time(upload.created_at, out);
    push_key("expires_at", out);
    push_time(upload.expires_at, out);
    push_key("filename", out);
    push_string(&upload.name, out);
    push(",\"purpose\":\"batch\",\"status\":", out);
    push_string(upload.status.as_str(), out);
    push_key("file", out);
    match &upload.file {
        Some(file) => write_file(file, out),
        None => push("null", out),
    }
    push("}", out);
}

/// Appends a part of an upload.
pub fn write_part(part: &PartRecord, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(part.id, out);
    push(",\"object\":\"upload.part\",\"created_at\":", out);
    push_time(part.created_at, out);
    push_key("upload_id", out);
    push_id(part.upload, out);
    push("}", out);
}
