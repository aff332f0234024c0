//! A model by its name, from the cache or from the Hub.

use std::path::PathBuf;

use crate::api::Api;
use crate::cache::RepositoryFolder;
use crate::choice::{choose, is_first_choice};
use crate::download::Download;
use crate::{HubError, HubName, HubOptions};

/// The Hub and its cache.
#[derive(Clone)]
pub struct Hub {
    options: HubOptions,
}

/// How far a download is. A split model is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are there.
    pub done: u64,
    /// Bytes of all of it.
    pub total: u64,
}

/// A model that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file to load.
    pub path: PathBuf,
    /// Whether something of it was downloaded just now.
    pub is_new: bool,
}

impl Hub {
    /// A Hub that is used so.
    pub fn new(options: HubOptions) -> Self {
        Self { options }
    }

    /// How it is used.
    pub fn options(&self) -> &HubOptions {
        &self.options
    }

    /// The file that the cache has under this name; nothing is asked of the Hub.
    pub fn find(&self, name: &HubName) -> Option<PathBuf> {
        RepositoryFolder::new(&self.options.folder, name).find(name)
    }

    /// The file of this name: from the cache where it is there, else downloaded. Where the name says no file and the cache has another
    /// than the first choice, the Hub is asked which is meant; the cache's is taken while the Hub cannot be asked.
    ///
    /// # Errors
    /// Why it cannot be had. What was downloaded of it until then is kept, and the next download goes on behind it.
    pub async fn fetch(
        &self,
        name: &HubName,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Found, HubError> {
        let cached = self.find(name).map(|path| Found { path, is_new: false });
        let is_meant = |found: &Found| name.selector().is_some() || is_first_choice(&found.path);
        match cached {
            Some(found) if is_meant(&found) => Ok(found),
            None => self.pull(name, on_progress).await,
            Some(found) => match self.pull(name, on_progress).await {
                Err(HubError::Unreachable { .. } | HubError::Offline(_)) => Ok(found),
                pulled => pulled,
            },
        }
    }

    /// The newest file of this name: the Hub is asked, and what the cache lacks is downloaded.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub async fn pull(
        &self,
        name: &HubName,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Found, HubError> {
        if self.options.is_offline {
            return Err(HubError::Offline(name.clone()));
        }
        let api = Api::new(&self.options)?;
        let repository = api.repository(name).await?;
        let files = choose(name, &repository.files)?;
        let folder = RepositoryFolder::new(&self.options.folder, name);
        if let Some(file) = files.iter().find(|file| file.sha256.is_none()) {
            return Err(HubError::NoSum(file.path.clone()));
        }
        let total = files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.bytes));
        let (mut before, mut is_new) = (0_u64, false);
        for file in &files {
            is_new |= !folder.blob(&file.blob).exists();
            let commit = repository.commit.as_str();
            let download = Download { api: &api, folder: &folder, name, commit, file };
            let mut on_bytes = |done: u64| on_progress(Progress { done: done.saturating_add(before), total });
            download.run(&mut on_bytes).await?;
            before = file.bytes.saturating_add(before);
        }
        let path = folder.link(name, &repository, &files)?;
        Ok(Found { path, is_new })
    }
}
