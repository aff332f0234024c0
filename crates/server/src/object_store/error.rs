//! Why an object cannot be put, read or deleted.

use std::error::Error as _;

use object_store::Error;

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
    /// It answers, and refuses what it is asked, as where credentials allow it not; it may be set up better later.
    #[error("the object store refuses: {0}")]
    Refused(String),
    /// Nothing there says that it is this database's, which has objects.
    #[error(
        "the object store has no `{path}`, which says whose it is, and this database has objects: it is another bucket, or the folder is \
         not mounted; if it is the right one, put `{database}` and a line feed there"
    )]
    Unowned {
        /// The object that says it.
        path: String,
        /// What it says.
        database: String,
    },
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
        matches!(self, Self::Away(_) | Self::Refused(_) | Self::Unowned { .. } | Self::Foreign(_))
    }
}

impl From<Error> for ObjectStoreError {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { path, .. } => Self::Missing(path),
            error @ (Error::Generic { .. } | Error::JoinError { .. }) => Self::Away(in_words(&error)),
            error => Self::Refused(in_words(&error)),
        }
    }
}

/// The error with its causes, as far as it does not repeat them itself.
fn in_words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}
