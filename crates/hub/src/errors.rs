//! What may go wrong, in words for whoever asked.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::HubName;

/// Files that are listed at most.
const FILES_SHOWN: usize = 20;

/// Why a model is not there.
#[derive(Debug, Error)]
pub enum HubError {
    /// Nothing may be asked of the Hub.
    #[error("{0} is not in the cache, and HF_HUB_OFFLINE forbids to download it")]
    Offline(HubName),
    /// There is no such repository, or it is not shown to whoever asks.
    #[error("the Hub shows no model {0}: check the name; for a private one set HF_TOKEN")]
    NoRepository(HubName),
    /// Its owner gives it to those who ask.
    #[error("{name} is gated: ask for access at {page}, then set HF_TOKEN")]
    Gated {
        /// What was asked for.
        name: HubName,
        /// Where people ask for access.
        page: String,
    },
    /// The token is none.
    #[error("the Hub refuses HF_TOKEN: it is wrong, has expired, or may not read {0}")]
    BadToken(HubName),
    /// There is no such branch, tag or commit.
    #[error("{0} has no such revision")]
    NoRevision(HubName),
    /// No file of the repository fits.
    #[error("{name} {what}; its GGUF files: {}", list(.files))]
    NoFile {
        /// What was asked for.
        name: HubName,
        /// What is missing.
        what: String,
        /// What there is.
        files: Vec<String>,
    },
    /// The Hub says no, or something else than it should.
    #[error("the Hub at {endpoint} {what}")]
    BadAnswer {
        /// Which Hub.
        endpoint: String,
        /// What it did.
        what: String,
    },
    /// The connection could not be made, or broke again and again.
    #[error("the Hub at {endpoint} cannot be reached: {reason}")]
    Unreachable {
        /// Which Hub.
        endpoint: String,
        /// What went wrong.
        reason: String,
    },
    /// Nothing tells whether what comes is what was meant.
    #[error("the Hub states no SHA-256 of {0}")]
    NoSum(String),
    /// What came is not what the Hub said it would be.
    #[error("{file} was damaged on its way: {what}; it was removed, so download it again")]
    Damaged {
        /// Which file.
        file: String,
        /// How that was found.
        what: String,
    },
    /// The disk has no room.
    #[error("{file} needs {} MB, and the disk of {} has {}", .needed / 1_000_000, .folder.display(), .free / 1_000_000)]
    NoSpace {
        /// Which file.
        file: String,
        /// What is still to come.
        needed: u64,
        /// What there is.
        free: u64,
        /// Where the cache is.
        folder: PathBuf,
    },
    /// A file of the cache could not be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
}

impl HubError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// Whether the same may succeed later without anybody doing anything.
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
