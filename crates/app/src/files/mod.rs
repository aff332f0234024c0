mod check;
pub(super) mod coming;
pub(super) mod lines;
mod upload;

use overnight_domain::files::FileRecord;
use overnight_domain::ids::FileId;
pub use overnight_domain::pieces::PIECE_BYTES;
use overnight_domain::scheduler::AccountKey;

pub use self::upload::{FileTerms, Upload};
use overnight_store::files::{self, FoundFile};

use super::Services;
use super::errors::AppError;
pub use overnight_store::files::{FilePage, Piece};
use overnight_store::requests::Direction;

pub(super) const NOUN: &str = "file";

#[derive(Debug, Clone, Copy)]
pub struct FileQuery {
    pub after: Option<FileId>,
    pub limit: u32,
    pub direction: Direction,
}

pub async fn get(services: &Services, account: AccountKey, id: FileId) -> Result<FileRecord, AppError> {
    Ok(find(services, account, id).await?.record)
}

pub async fn list(services: &Services, account: AccountKey, query: FileQuery) -> Result<FilePage, AppError> {
    let after = match query.after {
        Some(id) => Some(find(services, account, id).await?.seq),
        None => None,
    };
    Ok(files::page(&services.store, account, query.direction, after, query.limit).await?)
}

/// Deletes a file. A batch that was created from it is not affected.
pub async fn delete(services: &Services, account: AccountKey, id: FileId) -> Result<(), AppError> {
    match files::delete(&services.store, account, id).await? {
        true => Ok(()),
        false => Err(AppError::NotFound(NOUN)),
    }
}

/// The content of a file, piece by piece.
pub struct FileContent {
    services: Services,
    file: i64,
    next: i64,
    pub bytes: i64,
}

impl FileContent {
    pub async fn open(services: &Services, account: AccountKey, id: FileId) -> Result<Self, AppError> {
        let FoundFile { seq, record, .. } = find(services, account, id).await?;
        Ok(Self { services: services.clone(), file: seq, next: 0, bytes: record.bytes })
    }

    /// `None` at the end.
    pub async fn next_piece(&mut self) -> Result<Option<Piece>, AppError> {
        let piece = files::next_piece(&self.services.store, self.file, self.next).await?;
        if let Some(piece) = &piece {
            self.next = piece.place + 1;
        }
        Ok(piece)
    }
}

pub(super) async fn find(
    services: &Services,
    account: AccountKey,
    id: FileId,
) -> Result<FoundFile, AppError> {
    files::find(&services.store, account, id).await?.ok_or(AppError::NotFound(NOUN))
}
