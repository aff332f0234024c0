//! What is left in a folder beside objects. A file is written under another name first, `NAME#1`, and no list shows it: a process that ends
//! meanwhile leaves it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use object_store::path::Path;
use url::Url;

use super::error::ObjectStoreError;

/// A folder of objects.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// That of a `file:` URL; `None` for any other.
    pub(super) fn named_by(url: &Url) -> Option<Self> {
        (url.scheme() == "file").then(|| url.to_file_path().ok().map(Self)).flatten()
    }

    /// Removes what puts of an object left that ended half-way.
    pub(super) async fn remove_unfinished(&self, object: Path) -> Result<(), ObjectStoreError> {
        let path = self.path(&object);
        blocking(move || {
            // They are numbered without gaps.
            for number in 1_u64.. {
                let mut unfinished = path.clone().into_os_string();
                unfinished.push(format!("#{number}"));
                match fs::remove_file(unfinished) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        })
        .await
    }

    /// Removes what is left of an account, whose objects are deleted.
    pub(super) async fn remove_account(&self, account: Path) -> Result<(), ObjectStoreError> {
        let path = self.path(&account);
        blocking(move || match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    fn path(&self, path: &Path) -> PathBuf {
        path.parts().fold(self.0.clone(), |folder, part| folder.join(part.as_ref()))
    }
}

async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> Result<(), ObjectStoreError> {
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)));
    done.map_err(|error| ObjectStoreError::Refused(error.to_string()))
}
