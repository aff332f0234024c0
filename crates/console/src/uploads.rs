//! Texts from forms. A text is stored in a file while it arrives, so that slow senders block no one; it is in memory only while it is
//! processed, which few are at a time.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, SeekFrom};
use std::path::Path;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use overnight_app::errors::AppError;
use overnight_domain::ids::AccountId;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// The maximum number of texts in memory.
const IN_MEMORY_MAX: usize = 4;

static IN_MEMORY: Semaphore = Semaphore::const_new(IN_MEMORY_MAX);

/// The accounts with an upload, and whether it has arrived and is being processed.
static UPLOADING: Mutex<BTreeMap<AccountId, bool>> = Mutex::new(BTreeMap::new());

/// Rings when an upload ends.
static DONE: Notify = Notify::const_new();

/// The one upload of an account, until its processing ends, even if the visitor leaves.
pub(super) struct Upload {
    account: AccountId,
    /// The right to be in memory, once granted.
    permit: Option<SemaphorePermit<'static>>,
}

impl Upload {
    /// Waits while another upload of the account is processed: after a double click, the second gets the result of the first. Fails with
    /// [`AppError::Unavailable`] while another of the account arrives.
    pub(super) async fn begin(account: AccountId) -> Result<Self, AppError> {
        loop {
            let mut done = pin!(DONE.notified());
            done.as_mut().enable();
            match uploading().entry(account) {
                Entry::Vacant(free) => {
                    free.insert(false);
                    return Ok(Self { account, permit: None });
                }
                Entry::Occupied(other) if *other.get() => {}
                Entry::Occupied(_) => {
                    let message = "a file of this account is being read already; try again in a moment";
                    return Err(AppError::Unavailable(message.to_owned()));
                }
            }
            done.await;
        }
    }

    /// Reads the text into memory in its turn: in order of arrival, one per account.
    pub(super) async fn load(&mut self, spool: Spool) -> io::Result<Bytes> {
        uploading().insert(self.account, true);
        self.permit = IN_MEMORY.acquire().await.ok();
        spool.read().await
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        uploading().remove(&self.account);
        DONE.notify_waiters();
    }
}

fn uploading() -> MutexGuard<'static, BTreeMap<AccountId, bool>> {
    UPLOADING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A text that is arriving, in an unnamed file: it disappears with the process.
pub(super) struct Spool {
    file: File,
    bytes: u64,
}

impl Spool {
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: File::from_std(tempfile::tempfile_in(folder)?), bytes: 0 })
    }

    pub(super) async fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.bytes += chunk.len() as u64;
        self.file.write_all(chunk).await
    }

    /// In bytes.
    pub(super) const fn len(&self) -> u64 {
        self.bytes
    }

    /// Drops everything after this many bytes.
    pub(super) async fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes).await?;
        self.file.seek(SeekFrom::Start(bytes)).await?;
        self.bytes = bytes;
        Ok(())
    }

    async fn read(mut self) -> io::Result<Bytes> {
        self.file.flush().await?;
        self.file.rewind().await?;
        let mut text = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0));
        self.file.read_to_end(&mut text).await?;
        Ok(text.into())
    }
}
