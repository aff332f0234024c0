//! Why an object cannot be put, read or deleted.

use std::error::Error as Cause;
use std::io::{self, ErrorKind};
use std::iter::successors;

use object_store::Error;
use object_store::client::HttpError;

#[derive(Debug, thiserror::Error)]
pub enum ObjectStoreError {
    /// Unusable as configured.
    #[error("`object_store.url`: {0}")]
    Settings(String),
    /// Bodies are in one, but the settings name none.
    #[error("the settings name no object store, `object_store.url`, and bodies are stored in one")]
    NotNamed,
    /// It does not answer, or refuses for now.
    #[error("the object store is not available: {0}")]
    Away(String),
    /// Not called: it did not answer earlier calls, and another call tries it.
    #[error("the object store is not available: it did not answer the calls before")]
    NotCalled,
    /// It refuses the call, for example for lack of permission; its configuration may be corrected later.
    #[error("the object store refuses: {0}")]
    Refused(String),
    /// It does not say that it is this database's, which has objects.
    #[error(
        "the object store has no `{path}`, which says whose it is, and this database has objects: it is another bucket, or the folder is \
         not mounted. If it is the right one and the file alone is lost, write `{database}` and a line feed into `{path}`"
    )]
    Unowned { path: String, database: String },
    /// It belongs to another database.
    #[error(
        "the object store belongs to another database, by what `{0}` there says: each has a prefix of its own"
    )]
    Foreign(String),
    #[error("the object {0} is missing")]
    Missing(String),
    /// The object differs from what was put.
    #[error("the object {0} is not as it was put")]
    Damaged(String),
    #[error("the system gives no random numbers")]
    NoRandom,
}

impl ObjectStoreError {
    /// Whether a retry may succeed.
    pub const fn is_passing(&self) -> bool {
        self.is_away() || matches!(self, Self::Refused(_) | Self::Unowned { .. } | Self::Foreign(_))
    }

    /// Whether the object store does not answer.
    pub const fn is_away(&self) -> bool {
        matches!(self, Self::Away(_) | Self::NotCalled)
    }

    /// The error of a deletion. An answer concerns this object only, such as a legal hold; bulk deletions and folders report it like any
    /// error.
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

/// Whether the call got any answer.
pub(super) fn was_answered(error: &Error) -> bool {
    !causes(error).any(|cause| cause.is::<HttpError>())
}

/// Whether a file system is there but refuses this call, as a full one refuses puts but not reads.
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

/// The error with its causes, without repetitions.
fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}
