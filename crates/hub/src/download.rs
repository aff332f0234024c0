//! One file of a repository: downloaded into the cache, going on where an earlier download stopped.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::CONTENT_RANGE;

use crate::api::{Api, RemoteFile};
use crate::cache::RepositoryFolder;
use crate::writer::{Writer, Written};
use crate::{HubError, HubName};

/// A connection that breaks is made again so often without a single byte having come.
const BREAKS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// What is downloaded, and from where.
pub(crate) struct Download<'a> {
    pub(crate) api: &'a Api,
    pub(crate) folder: &'a RepositoryFolder,
    pub(crate) name: &'a HubName,
    pub(crate) commit: &'a str,
    pub(crate) file: &'a RemoteFile,
}

impl Download<'_> {
    /// Lets the cache have the file; `on_progress` is told how many of its bytes are there.
    pub(crate) async fn run(&self, on_progress: &mut (dyn FnMut(u64) + Send)) -> Result<(), HubError> {
        let blob = self.folder.blob(&self.file.blob);
        let _lock = self.lock().await?;
        // Another tool may have brought it while this one waited.
        if fs::metadata(&blob).is_ok_and(|known| known.len() == self.file.bytes) {
            on_progress(self.file.bytes);
            return Ok(());
        }
        self.check_space()?;
        let mut breaks = 0;
        loop {
            let before = self.kept();
            match self.go_on(before, on_progress).await {
                Err(HubError::Unreachable { .. }) if self.kept() > before => breaks = 0,
                Err(HubError::Unreachable { .. }) if breaks < BREAKS_MAX => breaks += 1,
                Err(error) => return Err(error),
                Ok(written) => return self.accept(&written, &blob),
            }
            tracing::debug!(file = self.file.path, kept = self.kept(), "download broke; it goes on");
            pause(PAUSE * breaks).await;
        }
    }

    /// Downloads what is behind the first `kept` bytes.
    async fn go_on(&self, kept: u64, on_progress: &mut (dyn FnMut(u64) + Send)) -> Result<Written, HubError> {
        let unfinished = self.folder.unfinished(&self.file.blob);
        if kept >= self.file.bytes {
            return Writer::begin(unfinished.clone(), self.file.bytes)
                .finish()
                .await
                .map_err(HubError::file(&unfinished));
        }
        let mut response = self.api.file(self.name, self.commit, &self.file.path, kept).await?;
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && response
                .headers()
                .get(CONTENT_RANGE)
                .and_then(|range| range.to_str().ok())
                .is_some_and(|range| range.strip_prefix(&format!("bytes {kept}-")).is_some());
        if response.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            return Err(self.api.bad(&format!("has less of {} than it said", self.file.path)));
        }
        let mut done = if goes_on { kept } else { 0 };
        let writer = Writer::begin(unfinished.clone(), done);
        on_progress(done);
        let broke = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => {
                    done += chunk.len() as u64;
                    if done > self.file.bytes || !writer.put(chunk).await {
                        break None;
                    }
                    on_progress(done);
                }
                Ok(None) if done < self.file.bytes => {
                    let reason =
                        format!("{} ended after {done} of {} bytes", self.file.path, self.file.bytes);
                    break Some(HubError::Unreachable { endpoint: self.api.endpoint().to_owned(), reason });
                }
                Ok(None) => break None,
                Err(error) => break Some(self.api.unreachable(&error)),
            }
        };
        let written = writer.finish().await.map_err(HubError::file(&unfinished))?;
        match broke {
            Some(error) => Err(error),
            None => Ok(Written { bytes: done.max(written.bytes), ..written }),
        }
    }

    /// Takes the file in if it is what the Hub said, else removes it.
    fn accept(&self, written: &Written, blob: &Path) -> Result<(), HubError> {
        let unfinished = self.folder.unfinished(&self.file.blob);
        let what = match &self.file.sha256 {
            _ if written.bytes != self.file.bytes => {
                Some(format!("{} bytes came instead of {}", written.bytes, self.file.bytes))
            }
            Some(sum) if *sum != written.sha256 => {
                Some(format!("its SHA-256 is {} instead of {sum}", written.sha256))
            }
            _ => None,
        };
        if let Some(what) = what {
            fs::remove_file(&unfinished).map_err(HubError::file(&unfinished))?;
            return Err(HubError::Damaged { file: self.file.path.clone(), what });
        }
        fs::rename(&unfinished, blob).map_err(HubError::file(blob))
    }

    /// How much of it an earlier download has left.
    fn kept(&self) -> u64 {
        fs::metadata(self.folder.unfinished(&self.file.blob)).map_or(0, |known| known.len())
    }

    /// Waits while another process downloads the same.
    async fn lock(&self) -> Result<File, HubError> {
        let path = self.folder.lock(&self.file.blob);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent).map_err(HubError::file(parent))?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(HubError::file(&path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) => pause(LOCK_PAUSE).await,
                Err(fs::TryLockError::Error(error)) => return Err(HubError::file(&path)(error)),
            }
        }
    }

    fn check_space(&self) -> Result<(), HubError> {
        let needed = self.file.bytes.saturating_sub(self.kept());
        let folder = self.folder.path();
        match free_bytes(&folder) {
            Some(free) if free < needed => {
                Err(HubError::NoSpace { file: self.file.path.clone(), needed, free, folder })
            }
            _ => Ok(()),
        }
    }
}

/// What the disk of the nearest folder that exists has left; `None` where that cannot be told.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let known = folder.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    known.f_bavail.checked_mul(known.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

#[expect(clippy::disallowed_methods, reason = "between calls to a server in the world")]
async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
