//! Why an object cannot be put, read or deleted.

use std::error::Error as Cause;
use std::io::{self, ErrorKind};
use std::iter::successors;

use object_store::Error;
use object_store::client::HttpError;

/// What the object store said, or what is wrong with how it is named.
#[derive(Debug, thiserror::Error)]
pub enum ObjectStoreError {
    /// It cannot be used as the settings name it.
    #[error("`object_store.url`: {0}")]
    Settings(String),
    /// The settings name none, and bodies are in one.
    #[error("the settings name no object store, `object_store.url`, and bodies are stored in one")]
    NotNamed,
    /// It does not answer, or refuses; it may do so later.
    #[error("the object store is not available: {0}")]
    Away(String),
    /// It was not called: it did not answer the calls before, and another call tries it.
    #[error("the object store is not available: it did not answer the calls before")]
    NotCalled,
    /// It answers, and refuses what it is asked, as where credentials allow it not; it may be set up better later.
    #[error("the object store refuses: {0}")]
    Refused(String),
    /// Nothing there says that it is this database's, which has objects.
    #[error(
        "the object store has no `{path}`, which says whose it is, and this database has objects: it is another bucket, or the folder is \
         not mounted. If it is the right one and the file alone is lost, write `{database}` and a line feed into `{path}`"
    )]
    Unowned { path: String, database: String },
    /// It is another database's.
    #[error(
        "the object store belongs to another database, by what `{0}` there says: each has a prefix of its own"
    )]
    Foreign(String),
    /// It has no such object.
    #[error("the object {0} is missing")]
    Missing(String),
    /// The object is not as it was put.
    #[error("the object {0} is not as it was put")]
    Damaged(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl ObjectStoreError {
    /// Whether the same may be asked again later.
    pub const fn is_passing(&self) -> bool {
        self.is_away() || matches!(self, Self::Refused(_) | Self::Unowned { .. } | Self::Foreign(_))
    }

    /// Whether the object store does not answer.
    pub const fn is_away(&self) -> bool {
        matches!(self, Self::Away(_) | Self::NotCalled)
    }

    /// Why an object is not deleted. An answer is about this object: a legal hold on it says nothing of others, and bulk deletions and
    /// folders tell it like an error of any kind.
    pub(super) fn of_deletion(error: Error) -> Self {
        match error {
            error @ Error::Generic { .. } if was_answered(&error) => Self::Refused(in_words(&error)),
            error => error.into(),
        }
    }
}

impl From<Error> for ObjectStoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { path, .. } => Self::Missing(path),
            error @ (Error::Generic { .. } | Error::JoinError { .. }) if !is_refused_by_disk(&error) => {
                Self::Away(in_words(&error))
            }
            error => Self::Refused(in_words(&error)),
        }
    }
}

/// Whether a call got an answer, whatever it says.
pub(super) fn was_answered(error: &Error) -> bool {
    !causes(error).any(|cause| cause.is::<HttpError>())
}

/// Whether a file system is there and refuses this call, as a full one refuses puts and no reads.
fn is_refused_by_disk(error: &Error) -> bool {
    let refuses = |cause: &io::Error| {
        matches!(
            cause.kind(),
            ErrorKind::PermissionDenied
                | ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::FileTooLarge
                | ErrorKind::Unsupported
        )
    };
    was_answered(error) && causes(error).any(|cause| cause.downcast_ref().is_some_and(refuses))
}

fn causes(error: &Error) -> impl Iterator<Item = &(dyn Cause + 'static)> {
    successors(error.source(), |&cause| cause.source())
}

/// The error with its causes, as far as it does not repeat them itself.
fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}
