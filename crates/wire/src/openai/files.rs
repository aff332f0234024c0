//! Files: uploaded ones and those read from a batch.

use overnight_domain::batches::BatchStatus;
use overnight_domain::files::{BatchFile, FileRecord};
use overnight_domain::ids::{
    BatchId, ErrorFileId, ErrorFileKind, Id, InputFileId, InputFileKind, Kind, OutputFileId, OutputFileKind,
};

use crate::json::{By, IfSet, Second, Value, object};

/// The purpose of a file of batch lines, the only supported purpose.
pub const BATCH: &str = "batch";

/// The file of a batch that an identifier names, and the batch; `None` if it names no such file.
pub fn parse_batch_file(text: &str) -> Option<(BatchFile, BatchId)> {
    fn of<K: Kind>(text: &str) -> Option<BatchId> {
        Id::<K>::parse(text).map(|id| BatchId::from_bits(id.bits()))
    }
    let input = of::<InputFileKind>(text).map(|batch| (BatchFile::Input, batch));
    let output = || of::<OutputFileKind>(text).map(|batch| (BatchFile::Output, batch));
    let errors = || of::<ErrorFileKind>(text).map(|batch| (BatchFile::Errors, batch));
    input.or_else(output).or_else(errors)
}

/// The identifier of a file of the batch.
pub fn batch_file_id(file: BatchFile, batch: BatchId) -> String {
    match file {
        BatchFile::Input => InputFileId::from_bits(batch.bits()).to_string(),
        BatchFile::Output => OutputFileId::from_bits(batch.bits()).to_string(),
        BatchFile::Errors => ErrorFileId::from_bits(batch.bits()).to_string(),
    }
}

const fn suffix(file: BatchFile) -> &'static str {
    match file {
        BatchFile::Input => "input",
        BatchFile::Output => "output",
        BatchFile::Errors => "errors",
    }
}

/// Appends an uploaded file.
pub fn write_file(record: &FileRecord, out: &mut Vec<u8>) {
    file(record).append(out);
}

pub(super) fn file(file: &FileRecord) -> impl Value {
    object! {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": Second(file.created_at),
        "expires_at": IfSet(file.expires_at.map(Second)),
        "filename": file.name,
        "purpose": BATCH,
        "status": if file.fault_count > 0 { "error" } else { "processed" },
    }
}

/// Appends a file of a batch, whose length is `bytes`. Its status says whether it may still grow.
pub fn write_batch_file(
    kind: BatchFile,
    (batch, status): (BatchId, BatchStatus),
    created_at: i64,
    bytes: i64,
    out: &mut Vec<u8>,
) {
    let is_whole = matches!(status, BatchStatus::Completed | BatchStatus::Cancelled);
    object! {
        "id": batch_file_id(kind, batch),
        "object": "file",
        "bytes": bytes,
        "created_at": Second(created_at),
        "filename": format!("{batch}_{}.jsonl", suffix(kind)),
        "purpose": if kind == BatchFile::Input { BATCH } else { "batch_output" },
        "status": if is_whole { "processed" } else { "uploaded" },
    }
    .append(out);
}

/// Appends the answer to a deletion; `id` is the identifier that the client sent.
pub fn write_deleted(id: &str, out: &mut Vec<u8>) {
    object! { "id": id, "object": "file", "deleted": true }.append(out);
}

/// Appends a page of a list. `write` appends an item, `id` returns its identifier.
pub fn write_list<T, K: Kind>(
    items: &[T],
    has_more: bool,
    write: impl Fn(&T, &mut Vec<u8>),
    id: impl Fn(&T) -> Id<K>,
    out: &mut Vec<u8>,
) {
    let write = &write;
    let data: Vec<_> = items.iter().map(|item| By(move |out: &mut Vec<u8>| write(item, out))).collect();
    object! {
        "object": "list",
        "data": data[..],
        "first_id": items.first().map(&id),
        "last_id": items.last().map(&id),
        "has_more": has_more,
    }
    .append(out);
}
