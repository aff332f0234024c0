//! A model by its name, from the cache or from the Hub.

use std::path::PathBuf;

use crate::api::Api;
use crate::cache::RepositoryFolder;
use crate::choice::choose;
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

    /// The file of this name: from the cache where it is there, else downloaded.
    ///
    /// # Errors
    /// Why it cannot be had. What was downloaded of it until then is kept, and the next download goes on behind it.
    pub async fn fetch(
        &self,
        name: &HubName,
        on_progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Found, HubError> {
        match self.find(name) {
            Some(path) => Ok(Found { path, is_new: false }),
            None => self.pull(name, on_progress).await,
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
        let total = files.iter().map(|file| file.bytes).sum();
        let (mut before, mut is_new) = (0, false);
        for file in &files {
            is_new |= !folder.blob(&file.blob).exists();
            let commit = repository.commit.as_str();
            let download = Download { api: &api, folder: &folder, name, commit, file };
            download.run(&mut |done| on_progress(Progress { done: before + done, total })).await?;
            before += file.bytes;
        }
        let path = folder.link(name, &repository, &files)?;
        Ok(Found { path, is_new })
    }
}
