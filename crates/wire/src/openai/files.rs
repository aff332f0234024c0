//! Files: uploaded ones and those read from a batch.

use overnight_domain::batches::BatchStatus;
use overnight_domain::files::FileRecord;
use overnight_domain::ids::{BatchId, ErrorFileId, Id, InputFileId, Kind, OutputFileId};

use crate::json::{By, IfSet, Second, Value, object};

/// The purpose of a file of batch lines, the only supported purpose.
pub const BATCH: &str = "batch";

/// A file that is read from a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchFile {
    /// Its requests, if they were not uploaded as a file.
    Input,
    /// Its answers.
    Output,
    /// The errors of its requests.
    Errors,
}

impl BatchFile {
    /// The kind and batch that an identifier names, if it names a batch file.
    pub fn parse(text: &str) -> Option<(Self, BatchId)> {
        fn of<K: Kind>(text: &str) -> Option<BatchId> {
            Id::<K>::parse(text).map(|id| BatchId::from_bits(id.bits()))
        }
        let input = of::<overnight_domain::ids::InputFileKind>(text).map(|batch| (Self::Input, batch));
        let output = || of::<overnight_domain::ids::OutputFileKind>(text).map(|batch| (Self::Output, batch));
        let errors = || of::<overnight_domain::ids::ErrorFileKind>(text).map(|batch| (Self::Errors, batch));
        input.or_else(output).or_else(errors)
    }

    /// Its identifier.
    pub fn id(self, batch: BatchId) -> String {
        match self {
            Self::Input => InputFileId::from_bits(batch.bits()).to_string(),
            Self::Output => OutputFileId::from_bits(batch.bits()).to_string(),
            Self::Errors => ErrorFileId::from_bits(batch.bits()).to_string(),
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
        "id": kind.id(batch),
        "object": "file",
        "bytes": bytes,
        "created_at": Second(created_at),
        "filename": format!("{batch}_{}.jsonl", kind.suffix()),
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
