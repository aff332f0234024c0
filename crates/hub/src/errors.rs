//! Errors, with messages for the person who named the model.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::HubName;

/// Maximum number of files in a message.
const FILES_SHOWN: usize = 20;

/// The reason why a model is unavailable.
#[derive(Debug, Error)]
pub enum HubError {
    /// The cache lacks the model, and the Hub must not be contacted.
    #[error("{0} is not in the cache, and HF_HUB_OFFLINE forbids to download it")]
    Offline(HubName),
    /// The repository does not exist, or the token has no access.
    #[error("the Hub shows no model {0}: check the name; for a private one set HF_TOKEN")]
    NoRepository(HubName),
    /// The owner grants access on request.
    #[error("{name} is gated: ask for access at {page}, then set HF_TOKEN")]
    Gated {
        /// The requested name.
        name: HubName,
        /// The page on which people request access.
        page: String,
    },
    /// The token is invalid.
    #[error("the Hub refuses HF_TOKEN: it is wrong, has expired, or may not read {0}")]
    BadToken(HubName),
    /// The branch, tag or commit does not exist.
    #[error("{0} has no such revision")]
    NoRevision(HubName),
    /// No file of the repository matches.
    #[error("{name} {what}; its GGUF files: {}", list(.files))]
    NoFile {
        /// The requested name.
        name: HubName,
        /// The reason, which continues the name.
        what: String,
        /// The existing files.
        files: Vec<String>,
    },
    /// The Hub refused, or its answer is unexpected.
    #[error("the Hub at {endpoint} {what}")]
    BadAnswer {
        /// The Hub's address.
        endpoint: String,
        /// Its answer.
        what: String,
    },
    /// The connection failed, or broke repeatedly.
    #[error("the Hub at {endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// The Hub's address.
        endpoint: String,
        /// The cause.
        reason: String,
    },
    /// The Hub gives no hash of the file, so a download could not be checked.
    #[error("the Hub states no SHA-256 of {0}")]
    NoSum(String),
    /// The download differs from the Hub's length or hash.
    #[error("{file} was damaged on its way: {what}; it was removed, so download it again")]
    Damaged {
        /// The damaged file.
        file: String,
        /// The difference.
        what: String,
    },
    /// The disk has too little space.
    #[error("{file} needs {} MB, and the disk of {} has {}", .needed / 1_000_000, .folder.display(), .free / 1_000_000)]
    NoSpace {
        /// The file to download.
        file: String,
        /// The missing bytes.
        needed: u64,
        /// The free bytes.
        free: u64,
        /// The cache folder.
        folder: PathBuf,
    },
    /// A file of the cache could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file's path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl HubError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// Whether a later try may succeed without a change by a person.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::BadAnswer { .. })
    }
}

fn list(files: &[String]) -> String {
    match files.len() {
        0 => "none".to_owned(),
        count @ 1..=FILES_SHOWN => files[..count].join(", "),
        count => format!("{} and {} more", files[..FILES_SHOWN].join(", "), count - FILES_SHOWN),
    }
}
