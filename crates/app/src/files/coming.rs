//! A file that is received piece by piece, for any use.

use bytes::Bytes;
use overnight_base::tasks;
use overnight_domain::scheduler::AccountKey;
use overnight_store::files::{self, Appended, NewFile};

use crate::Services;
use crate::errors::AppError;

/// A file is discarded after this many milliseconds without a new piece.
const LASTS_MS: i64 = 10 * 60_000;

/// A file that is being received. It is discarded if it is dropped before [`keep`](Self::keep).
pub(crate) struct ComingFile {
    services: Services,
    pub(crate) new: NewFile,
    pub(crate) seq: i64,
    place: i64,
    is_kept: bool,
}

impl ComingFile {
    /// Begins a file. Fails with [`AppError::QuotaExceeded`] if the account has no room.
    pub(crate) async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        let now = services.clock.now();
        let new =
            NewFile { id: services.ids.next(now), account, created_at: now, lasts_until: now + LASTS_MS };
        let seq = files::begin(&services.store, new).await??;
        Ok(Self { services: services.clone(), new, seq, place: 0, is_kept: false })
    }

    /// Stores the next piece. Fails with [`AppError::Unavailable`] if the file was discarded.
    pub(crate) async fn append(&mut self, piece: Bytes) -> Result<(), AppError> {
        let (now, place) = (self.services.clock.now(), self.place);
        self.place += 1;
        let (file, times) = ((self.new.account, self.seq), (now, now + LASTS_MS));
        match files::append(&self.services.store, file, place, piece, times).await? {
            Appended::Stored => Ok(()),
            Appended::OverQuota(exceeded) => Err(exceeded.into()),
            Appended::Gone => Err(given_up()),
        }
    }

    /// The file has reached its purpose and is not discarded.
    pub(crate) fn keep(mut self) {
        self.is_kept = true;
    }
}

/// The error for a file that received no piece for too long.
pub(crate) fn given_up() -> AppError {
    AppError::Unavailable("the upload was given up: nothing of it came for too long".to_owned())
}

impl Drop for ComingFile {
    fn drop(&mut self) {
        if self.is_kept || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (services, account, file) = (self.services.clone(), self.new.account, self.seq);
        tasks::spawn(async move {
            if let Err(error) = files::discard(&services.store, account, file).await {
                tracing::debug!(%error, "upload not discarded; it is deleted once it is too old");
            }
        });
    }
}
