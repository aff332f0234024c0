//! Files: those that were uploaded, and those that are read of a batch.

use overnight_domain::batches::BatchStatus;
use overnight_domain::files::FileRecord;
use overnight_domain::ids::{BatchId, ErrorFileId, Id, InputFileId, Kind, OutputFileId};

use crate::json::{push, push_id, push_integer, push_key, push_string, push_time, push_time_if_set};

/// The purpose of a file of batch lines, the only one there is.
pub const BATCH: &str = "batch";

/// What of a batch is read as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFile {
    /// Its requests, where no file was uploaded for them.
    Input,
    /// Its answers.
    Output,
    /// The errors of its requests.
    Errors,
}

impl BatchFile {
    /// Which file of which batch an identifier names, if it names one.
    pub fn parse(text: &str) -> Option<(Self, BatchId)> {
        fn of<K: Kind>(text: &str) -> Option<BatchId> {
            Id::<K>::parse(text).map(|id| BatchId::from_bits(id.bits()))
        }
        let input = of::<overnight_domain::ids::InputFileKind>(text).map(|batch| (Self::Input, batch));
        let output = || of::<overnight_domain::ids::OutputFileKind>(text).map(|batch| (Self::Output, batch));
        let errors = || of::<overnight_domain::ids::ErrorFileKind>(text).map(|batch| (Self::Errors, batch));
        input.or_else(output).or_else(errors)
    }

    /// Appends its identifier in quotes.
    pub fn push_id(self, batch: BatchId, out: &mut Vec<u8>) {
        match self {
            Self::Input => push_id(InputFileId::from_bits(batch.bits()), out),
            Self::Output => push_id(OutputFileId::from_bits(batch.bits()), out),
            Self::Errors => push_id(ErrorFileId::from_bits(batch.bits()), out),
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::Errors => "errors",
        }
    }
}

/// Appends a file that was uploaded.
pub fn write_file(file: &FileRecord, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_id(file.id, out);
    push(",\"object\":\"file\",\"bytes\":", out);
    push_integer(file.bytes, out);
    push_key("created_at", out);
    push_time(file.created_at, out);
    push_time_if_set("expires_at", file.expires_at, out);
    push_key("filename", out);
    push_string(&file.name, out);
    push(",\"purpose\":\"batch\",\"status\":\"", out);
    push(if file.fault_count > 0 { "error" } else { "processed" }, out);
    push("\"}", out);
}

/// Appends a file that is read of a batch, which is so many bytes long. Its status says whether it may still grow.
pub fn write_batch_file(
    kind: BatchFile,
    (batch, status): (BatchId, BatchStatus),
    created_at: i64,
    bytes: i64,
    out: &mut Vec<u8>,
) {
    push("{\"id\":", out);
    kind.push_id(batch, out);
    push(",\"object\":\"file\",\"bytes\":", out);
    push_integer(bytes, out);
    push_key("created_at", out);
    push_time(created_at, out);
    push_key("filename", out);
    push_string(&format!("{batch}_{}.jsonl", kind.suffix()), out);
    push_key("purpose", out);
    push_string(if kind == BatchFile::Input { BATCH } else { "batch_output" }, out);
    let is_whole = matches!(status, BatchStatus::Completed | BatchStatus::Cancelled);
    push_key("status", out);
    push_string(if is_whole { "processed" } else { "uploaded" }, out);
    push("}", out);
}

/// Appends what a deletion is answered with; `id` is what was asked for.
pub fn write_deleted(id: &str, out: &mut Vec<u8>) {
    push("{\"id\":", out);
    push_string(id, out);
    push(",\"object\":\"file\",\"deleted\":true}", out);
}

/// Appends a page of a list, whose items `write` appends; `id` appends an item's identifier in quotes.
pub fn write_list<T>(
    items: &[T],
    has_more: bool,
    write: impl Fn(&T, &mut Vec<u8>),
    id: impl Fn(&T, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    push("{\"object\":\"list\",\"data\":[", out);
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(item, out);
    }
    push("]", out);
    for (key, item) in [("first_id", items.first()), ("last_id", items.last())] {
        push_key(key, out);
        match item {
            Some(item) => id(item, out),
            None => push("null", out),
        }
    }
    push_key("has_more", out);
    push(if has_more { "true" } else { "false" }, out);
    push("}", out);
}
