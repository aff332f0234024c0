//! Reading files.

use bytes::Bytes;
use overnight_domain::files::{BatchEndpoint, FileRecord};
use overnight_domain::ids::FileId;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Row, Tx, statements};
use crate::requests::Direction;
use crate::{Store, StoreError};

statements! {
    FIND = "SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, faults
        FROM files WHERE id = ? AND account = ? AND state = 1 /* ready */";
    PAGE = "SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, NULL AS faults
        FROM files WHERE account = ? AND seq > ? AND state = 1 /* ready */ ORDER BY seq LIMIT ?";
    PAGE_FROM_NEWEST = "SELECT seq, id, created_at, expires_at, bytes, name, endpoint, lines, hold, fault_count, NULL AS faults
        FROM files WHERE account = ? AND seq < ? AND state = 1 /* ready */ ORDER BY seq DESC LIMIT ?";
    NEXT_PIECE = "SELECT place, content FROM file_pieces WHERE file = ? AND place >= ? ORDER BY place LIMIT 1";
}

/// A file with fields that only the service knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub seq: i64,
    /// Maximum cost of its lines.
    pub hold: Credits,
    pub record: FileRecord,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePage {
    /// Without their faults.
    pub rows: Vec<FileRecord>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub place: i64,
    pub content: Bytes,
}

pub async fn find(store: &Store, account: AccountKey, id: FileId) -> Result<Option<FoundFile>, StoreError> {
    store.readers().fetch_optional(FIND.bind(id).bind(account)).await?.as_ref().map(read).transpose()
}

/// As clients see it.
pub(super) async fn find_in(
    account: AccountKey,
    id: FileId,
    tx: &mut Tx<'_>,
) -> Result<Option<FileRecord>, StoreError> {
    tx.fetch(FIND.bind(id).bind(account)).await?.first().map(|row| Ok(read(row)?.record)).transpose()
}

pub async fn page(
    store: &Store,
    account: AccountKey,
    direction: Direction,
    after: Option<i64>,
    limit: u32,
) -> Result<FilePage, StoreError> {
    let query = match direction {
        Direction::OldestFirst => PAGE.bind(account).bind(after.unwrap_or(i64::MIN)),
        Direction::NewestFirst => PAGE_FROM_NEWEST.bind(account).bind(after.unwrap_or(i64::MAX)),
    };
    let rows = store.readers().fetch_all(query.bind(i64::from(limit) + 1)).await?;
    let has_more = rows.len() > limit as usize;
    let rows = rows.iter().take(limit as usize).map(|row| Ok(read(row)?.record));
    Ok(FilePage { rows: rows.collect::<Result<_, StoreError>>()?, has_more })
}

/// The first piece at or after `place`.
pub async fn next_piece(store: &Store, file: i64, place: i64) -> Result<Option<Piece>, StoreError> {
    let row = store.readers().fetch_optional(NEXT_PIECE.bind(file).bind(place)).await?;
    row.map(|row| Ok(Piece { place: row.get("place")?, content: row.share("content")?.unwrap_or_default() }))
        .transpose()
}

fn read(row: &Row) -> Result<FoundFile, StoreError> {
    let endpoint: Option<&str> = row.get("endpoint")?;
    let record = FileRecord {
        id: row.get("id")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        bytes: row.get("bytes")?,
        name: row.get("name")?,
        endpoint: endpoint.and_then(BatchEndpoint::parse_stored),
        lines: row.get("lines")?,
        fault_count: row.get("fault_count")?,
        faults: row.share("faults")?,
    };
    Ok(FoundFile { seq: row.get("seq")?, hold: row.get("hold")?, record })
}
