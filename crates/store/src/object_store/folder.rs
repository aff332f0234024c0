//! A folder of objects, and remnants in it. A file is first written as `NAME#1`, which no list shows; a process that ends meanwhile leaves
//! it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path as FilePath, PathBuf};

use object_store::path::Path;
use overnight_base::file_owner::leave_to_owner;
use overnight_base::private_files::{folder_of, sync_folder};
use url::Url;

use super::error::ObjectStoreError;

pub(super) struct Folder(PathBuf);

impl Folder {
    /// `None` unless it is a `file:` URL.
    pub(super) fn named_by(url: &Url) -> Option<Self> {
        (url.scheme() == "file").then(|| url.to_file_path().ok().map(Self)).flatten()
    }

    /// Creates an absent folder. If root creates it, it gets the owner of the folder around it.
    pub(super) fn make(path: &FilePath) -> io::Result<()> {
        let missing: Vec<&FilePath> = path.ancestors().take_while(|folder| !folder.is_dir()).collect();
        for folder in missing.into_iter().rev() {
            let above = folder_of(folder);
            match fs::create_dir(folder) {
                // Another node was faster.
                Err(_) if folder.is_dir() => continue,
                made => made?,
            }
            if let Err(error) = leave_to_owner(above, folder) {
                tracing::warn!(%error, folder = %folder.display(), "folder of objects not given to the owner of the folder around it");
            }
            sync_folder(above)?;
        }
        Ok(())
    }

    /// Removes remnants of unfinished puts of an object.
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

    /// Removes the remnants of an account whose objects are deleted.
    pub(super) async fn remove_account(&self, account: Path) -> Result<(), ObjectStoreError> {
        let path = self.path(&account);
        blocking(move || match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    /// Removes an account's folder if it is empty.
    pub(super) async fn remove_if_empty(&self, account: Path) -> Result<(), ObjectStoreError> {
        let path = self.path(&account);
        blocking(move || match fs::remove_dir(path) {
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::DirectoryNotEmpty) => {
                Err(error)
            }
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

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{MetadataExt, chown};

    use super::*;

    #[test]
    fn what_root_makes_in_the_folder_of_another_user_is_that_users() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root gives folders to others");
        }
        let (data, owner) = (tempfile::tempdir().expect("a folder"), 1_234);
        chown(data.path(), Some(owner), None).expect("an owner");
        let made = data.path().join("a/b");
        Folder::make(&made).expect("a folder");
        for folder in [&made, &data.path().join("a")] {
            assert_eq!(fs::metadata(folder).expect("a folder").uid(), owner, "{}", folder.display());
        }
        chown(&made, Some(0), None).expect("an owner");
        Folder::make(&made).expect("it is there");
        assert_eq!(fs::metadata(&made).expect("a folder").uid(), 0, "one that is there stays as it is");
    }
}
