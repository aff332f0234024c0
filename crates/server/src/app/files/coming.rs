//! A file that comes, piece by piece, whatever is made of it then.

use bytes::Bytes;
use overnight_base::tasks;
use overnight_domain::scheduler::AccountKey;

use crate::app::Services;
use crate::app::errors::AppError;
use crate::store::files::{self, Appended, NewFile};

/// A file of which nothing came for so long is given up, in milliseconds.
const LASTS_MS: i64 = 10 * 60_000;

/// A file that comes. Dropped before it is [kept](Self::keep), it is given up.
pub(in crate::app) struct ComingFile {
    services: Services,
    pub(in crate::app) new: NewFile,
    /// Its row number.
    pub(in crate::app) seq: i64,
    place: i64,
    is_kept: bool,
}

impl ComingFile {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// [`AppError::QuotaExceeded`] where the account stores all that it may; what the store could not do.
    pub(in crate::app) async fn begin(services: &Services, account: AccountKey) -> Result<Self, AppError> {
        let now = services.clock.now();
        let new =
            NewFile { id: services.ids.next(now), account, created_at: now, lasts_until: now + LASTS_MS };
        let seq = files::begin(&services.store, new).await??;
        Ok(Self { services: services.clone(), new, seq, place: 0, is_kept: false })
    }

    /// Stores its next piece.
    ///
    /// # Errors
    ///
    /// [`AppError::QuotaExceeded`] where the account stores all that it may; [`AppError::Unavailable`] where the file was given up.
    pub(in crate::app) async fn append(&mut self, piece: Bytes) -> Result<(), AppError> {
        let (now, place) = (self.services.clock.now(), self.place);
        self.place += 1;
        let (file, times) = ((self.new.account, self.seq), (now, now + LASTS_MS));
        match files::append(&self.services.store, file, place, piece, times).await? {
            Appended::Stored => Ok(()),
            Appended::OverQuota(exceeded) => Err(exceeded.into()),
            Appended::Gone => Err(given_up()),
        }
    }

    /// It has become what it was to be.
    pub(in crate::app) fn keep(mut self) {
        self.is_kept = true;
    }
}

/// A file of which nothing came for too long.
pub(in crate::app) fn given_up() -> AppError {
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
