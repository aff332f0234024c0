//! One file of a repository: downloaded into the cache, going on where an earlier download stopped.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use reqwest::header::CONTENT_RANGE;
use reqwest::{Response, StatusCode};

use crate::api::{Api, RemoteFile};
use crate::cache::RepositoryFolder;
use crate::modes::{adopt_file, create_folder};
use crate::writer::Partial;
use crate::{HubError, HubName};

/// A connection that breaks is made again so often without a single byte having come.
const BREAKS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
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
        let path = self.folder.unfinished(&self.file.blob);
        let failed = || HubError::file(&path);
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(HubError::file(folder))?;
        }
        let mut partial = Partial::open(&path).await.map_err(failed())?;
        adopt_file(&path).map_err(failed())?;
        if partial.bytes > self.file.bytes {
            partial.clear().map_err(failed())?;
        }
        let (mut most, mut breaks) = (partial.bytes, 0);
        while partial.bytes < self.file.bytes {
            let broke;
            (partial, broke) = self.go_on(partial, on_progress).await?;
            let Some(error) = broke else { break };
            breaks = if partial.bytes > most { 0 } else { breaks + 1 };
            most = most.max(partial.bytes);
            if breaks > BREAKS_MAX {
                return Err(error);
            }
            tracing::debug!(file = self.file.path, kept = partial.bytes, %error, "download broke; it goes on");
            pause(PAUSE * breaks.max(1)).await;
        }
        self.accept(partial, &blob).await
    }

    /// Downloads what is missing; with what is there now, why the connection broke, if it did.
    async fn go_on(
        &self,
        mut partial: Partial,
        on_progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<(Partial, Option<HubError>), HubError> {
        let path = self.folder.unfinished(&self.file.blob);
        let mut response = match self.api.file(self.name, self.commit, &self.file.path, partial.bytes).await {
            Err(error @ HubError::Unreachable { .. }) => return Ok((partial, Some(error))),
            response => response?,
        };
        match response.status() {
            StatusCode::RANGE_NOT_SATISFIABLE => {
                partial.clear().map_err(HubError::file(&path))?;
                return Err(self.api.bad(&format!("has less of {} than it said", self.file.path)));
            }
            StatusCode::PARTIAL_CONTENT if !begins_at(&response, partial.bytes) => {
                return Err(self
                    .api
                    .bad(&format!("sends another part of {} than asked for", self.file.path)));
            }
            StatusCode::PARTIAL_CONTENT => {}
            _ => partial.clear().map_err(HubError::file(&path))?,
        }
        let mut done = partial.bytes;
        let writer = partial.receive();
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
        let mut partial = writer.finish().await.map_err(HubError::file(&path))?;
        // More came than there is: what was left out counts too.
        partial.bytes = partial.bytes.max(if broke.is_none() { done } else { 0 });
        Ok((partial, broke))
    }

    /// Takes the file in if it is what the Hub said, else removes it.
    async fn accept(&self, partial: Partial, blob: &Path) -> Result<(), HubError> {
        let path = self.folder.unfinished(&self.file.blob);
        let bytes = partial.bytes;
        let sha256 = partial.complete().await.map_err(HubError::file(&path))?;
        let expected = &self.file.sha256;
        let what = match expected {
            _ if bytes != self.file.bytes => {
                Some(format!("{bytes} bytes came instead of {}", self.file.bytes))
            }
            Some(sum) if *sum != sha256 => Some(format!("its SHA-256 is {sha256} instead of {sum}")),
            _ => None,
        };
        if let Some(what) = what {
            fs::remove_file(&path).map_err(HubError::file(&path))?;
            return Err(HubError::Damaged { file: self.file.path.clone(), what });
        }
        fs::rename(&path, blob).map_err(HubError::file(blob))
    }

    /// Waits while another process downloads the same.
    async fn lock(&self) -> Result<File, HubError> {
        let path = self.folder.lock(&self.file.blob);
        let parent = path.parent().unwrap_or(&path);
        create_folder(parent).map_err(HubError::file(parent))?;
        let is_new = !path.exists();
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        // Of another user's lock nothing is written.
        let file = file.or_else(|_| File::open(&path)).map_err(HubError::file(&path))?;
        if is_new {
            adopt_file(&path).map_err(HubError::file(&path))?;
        }
        let mut is_said = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut is_said, true) {
                        tracing::warn!(
                            file = self.file.path,
                            "another process downloads this file; waiting for it"
                        );
                    }
                    pause(LOCK_PAUSE).await;
                }
                Err(fs::TryLockError::Error(error)) => return Err(HubError::file(&path)(error)),
            }
        }
    }

    fn check_space(&self) -> Result<(), HubError> {
        let kept = fs::metadata(self.folder.unfinished(&self.file.blob)).map_or(0, |known| known.len());
        let needed = self.file.bytes.saturating_sub(kept);
        let folder = self.folder.path();
        match free_bytes(&folder) {
            Some(free) if free < needed => {
                Err(HubError::NoSpace { file: self.file.path.clone(), needed, free, folder })
            }
            _ => Ok(()),
        }
    }
}

/// Whether a part of a file begins at this byte.
fn begins_at(response: &Response, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
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
