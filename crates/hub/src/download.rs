//! Downloads one file of a repository into the cache, continuing an earlier download.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use reqwest::header::CONTENT_RANGE;
use reqwest::{Response, StatusCode};

use crate::api::{Api, RemoteFile};
use crate::cache::RepositoryFolder;
use crate::modes::{adopt_file, create_folder, open};
use crate::writer::Partial;
use crate::{HubError, HubName};

/// Maximum number of consecutive broken connections without a byte.
const BREAKS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
const LOCK_PAUSE: Duration = Duration::from_millis(200);

pub(crate) struct Download<'a> {
    pub(crate) api: &'a Api,
    pub(crate) folder: &'a RepositoryFolder,
    pub(crate) name: &'a HubName,
    pub(crate) commit: &'a str,
    pub(crate) file: &'a RemoteFile,
}

impl Download<'_> {
    /// Downloads the file if the cache lacks it; `on_progress` receives the number of its bytes that are there.
    pub(crate) async fn run(&self, on_progress: &mut (dyn FnMut(u64) + Send)) -> Result<(), HubError> {
        let blob = self.folder.blob(&self.file.blob);
        let _lock = self.lock().await?;
        // Another process may have downloaded it during the wait.
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

    /// Downloads the missing bytes. Returns the file and, if the connection broke, the reason.
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
        // The Hub sent more bytes than the file has; the excess counts too.
        partial.bytes = partial.bytes.max(if broke.is_none() { done } else { 0 });
        Ok((partial, broke))
    }

    /// Moves the file into the cache if its length and hash are right, else removes it.
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

    /// Waits until no other process downloads the same blob.
    async fn lock(&self) -> Result<File, HubError> {
        let path = self.folder.lock(&self.file.blob);
        let parent = path.parent().unwrap_or(&path);
        create_folder(parent).map_err(HubError::file(parent))?;
        let file = match open(&path, File::options().create_new(true).write(true)) {
            Ok(file) => adopt_file(&file, &path).map(|()| file),
            Err(_) => open(&path, File::options().write(true)),
        };
        // Another user's lock may be readable only.
        let file =
            file.or_else(|_| open(&path, File::options().read(true))).map_err(HubError::file(&path))?;
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

/// Whether the response begins at this byte of the file.
fn begins_at(response: &Response, start: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
}

/// The free space on the disk of the nearest existing folder; `None` if unknown.
fn free_bytes(folder: &Path) -> Option<u64> {
    let known = folder.ancestors().find_map(|folder| rustix::fs::statvfs(folder).ok())?;
    known.f_bavail.checked_mul(known.f_frsize)
}

#[expect(clippy::disallowed_methods, reason = "between calls to a server in the world")]
async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}
