//! Finds a model by name in the cache or the Hub.

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

/// The progress of a download. All parts of a split model count as one download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The bytes present.
    pub done: u64,
    /// The bytes of the whole model.
    pub total: u64,
}

/// A model in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file to load.
    pub path: PathBuf,
    /// Whether this call downloaded a part of it.
    pub is_new: bool,
}

impl Hub {
    /// Uses the Hub and the cache of `options`.
    pub fn new(options: HubOptions) -> Self {
        Self { options }
    }

    /// The options of this Hub.
    pub fn options(&self) -> &HubOptions {
        &self.options
    }

    /// The cached file of a name, without contacting the Hub.
    pub fn find(&self, name: &HubName) -> Option<PathBuf> {
        RepositoryFolder::new(&self.options.folder, name).find(name)
    }

    /// Returns the file from the cache, or downloads it. If the name selects no file and the cache has another than the default choice, the
    /// Hub decides; while the Hub is unreachable, the cached file is used. After an error, a later download continues where this one
    /// stopped.
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

    /// Downloads the newest file of a name if the cache lacks it. Always contacts the Hub.
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
