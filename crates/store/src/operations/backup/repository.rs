//! The folder that backups are in.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use overnight_base::private_files;
use serde::{Deserialize, Serialize};

use crate::database::folder::HeldLock;
use crate::operations::backup::chunks::Chunks;
use crate::operations::backup::errors::BackupError;
use crate::operations::backup::files;
use crate::operations::backup::manifest::{self, Manifest, ManifestFault, Summary, VERSION};

const MARKER: &str = "repository.json";
const FORMAT: &str = "overnight-backups";
const BACKUPS: &str = "backups";
const DAMAGED: &str = "damaged";
const LOCK: &str = "lock";
const ENDING: &str = ".json";
const MARKER_BYTES_MAX: u64 = 1 << 10;
/// What a file system of its own has.
const NOBODYS: [&str; 2] = ["lost+found", "repository.part"];

#[derive(Serialize, Deserialize)]
struct Marker {
    format: String,
    version: u32,
}

/// The file name of a backup's description: its number, which orders backups whatever the clock said, and its stamp. Backups of earlier
/// releases have no number and are older.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) number: u64,
    pub(super) id: String,
}

impl Name {
    /// `None` for the name of another program's file: [`Name::file`] would write another, or a terminal would not show it as it is.
    fn parse(file: &str) -> Option<Self> {
        let name = file.strip_suffix(ENDING)?;
        let (number, id) = name.split_once('-').unwrap_or(("0", name));
        let is_plain = number.bytes().all(|digit| digit.is_ascii_digit())
            && !id.is_empty()
            && id.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        let name = Self { number: number.parse().ok().filter(|_| is_plain)?, id: id.to_owned() };
        (name.file() == file).then_some(name)
    }

    fn file(&self) -> String {
        match self.number {
            0 => format!("{}{ENDING}", self.id),
            number => format!("{number:08}-{}{ENDING}", self.id),
        }
    }
}

/// A folder of backups, locked until this is dropped.
#[derive(Debug)]
pub struct Repository {
    folder: PathBuf,
    chunks: Chunks,
    /// `None` if there is no lock, as in a copy.
    _lock: Option<HeldLock>,
}

impl Repository {
    /// Opens the folder to take and delete backups, by one process at a time; creates the folder, and a repository if it is empty. Fails if
    /// it holds other files or a newer repository, or is in use.
    pub fn open_to_write(folder: &Path) -> Result<Self, BackupError> {
        files::make_folder(folder)?;
        if !is_repository(folder)? {
            let names = files::names_in(folder)?;
            if names.iter().any(|name| !NOBODYS.contains(&name.as_str())) {
                return Err(BackupError::Foreign { path: folder.display().to_string() });
            }
            let marker = Marker { format: FORMAT.to_owned(), version: VERSION };
            let text = serde_json::to_vec(&marker).map_err(io::Error::from);
            let path = folder.join(MARKER);
            files::write_whole(&path, &text.map_err(BackupError::file(&path))?)?;
        }
        let path = folder.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = files::open(&path, &mut options).map_err(BackupError::file(&path))?;
        held(folder, lock.try_lock())?;
        let repository = Self::over(folder, Some(lock));
        files::make_folder(&repository.backups())?;
        repository.chunks.begin()?;
        Ok(repository)
    }

    /// Opens the folder to read; no file of it is deleted meanwhile. It may be read-only. Fails while a backup is being taken.
    pub fn open_to_read(folder: &Path) -> Result<Self, BackupError> {
        if !is_repository(folder)? {
            return Err(BackupError::NoRepository { path: folder.display().to_string() });
        }
        let path = folder.join(LOCK);
        let lock = match files::open(&path, OpenOptions::new().read(true)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            lock => Some(lock.map_err(BackupError::file(&path))?),
        };
        if let Some(lock) = &lock {
            held(folder, lock.try_lock_shared())?;
        }
        Ok(Self::over(folder, lock))
    }

    /// Oldest first, without a lock: also while a backup is taken.
    pub fn list(folder: &Path) -> Result<Vec<Summary>, BackupError> {
        if !is_repository(folder)? {
            return Err(BackupError::NoRepository { path: folder.display().to_string() });
        }
        let repository = Self::over(folder, None);
        let names = repository.names()?;
        names.iter().map(|name| Ok(repository.manifest(name)?.summary)).collect()
    }

    /// Files of backups set aside because they cannot be restored, without a lock.
    pub fn list_damaged(folder: &Path) -> Result<Vec<PathBuf>, BackupError> {
        let folder = folder.join(DAMAGED);
        Ok(files::names_in(&folder)?.into_iter().map(|name| folder.join(name)).collect())
    }

    fn over(folder: &Path, lock: Option<File>) -> Self {
        Self {
            folder: folder.to_owned(),
            chunks: Chunks::in_repository(folder),
            _lock: lock.map(HeldLock::of),
        }
    }

    pub(super) const fn chunks(&self) -> &Chunks {
        &self.chunks
    }

    /// In the order in which they were taken.
    pub(super) fn names(&self) -> Result<Vec<Name>, BackupError> {
        let files = files::names_in(&self.backups())?;
        let mut names: Vec<_> = files.iter().filter_map(|file| Name::parse(file)).collect();
        names.sort();
        Ok(names)
    }

    /// `None` for the newest.
    pub(super) fn find(&self, id: Option<&str>) -> Result<Manifest, BackupError> {
        let names = self.names()?;
        let found = match id {
            Some(id) => names.iter().find(|name| name.id == id),
            None => names.last(),
        };
        let unknown = || BackupError::Unknown {
            path: self.folder.display().to_string(),
            id: id.map(ToOwned::to_owned),
        };
        self.manifest(found.ok_or_else(unknown)?)
    }

    pub(super) fn manifest(&self, name: &Name) -> Result<Manifest, BackupError> {
        manifest_in(&self.path_of(name))
    }

    /// Readable ones of the backups set aside.
    pub(super) fn damaged_manifests(&self) -> Result<Vec<Manifest>, BackupError> {
        let paths = Self::list_damaged(&self.folder)?;
        Ok(paths.iter().filter_map(|path| manifest_in(path).ok()).collect())
    }

    /// Adds a backup whose chunks are stored, as the newest. Fails if another has the highest number.
    pub(super) fn add(&self, manifest: &Manifest) -> Result<(), BackupError> {
        let number = match self.names()?.last() {
            None => 1,
            Some(last) => last.number.checked_add(1).ok_or_else(|| BackupError::Manifest {
                path: self.path_of(last).display().to_string(),
                what: "has the highest number, and no backup can follow it: move it elsewhere".to_owned(),
            })?,
        };
        let path = self.path_of(&Name { number, id: manifest.summary.id.clone() });
        let text = manifest.to_text().map_err(io::Error::from).map_err(BackupError::file(&path))?;
        if text.len() as u64 > manifest::BYTES_MAX {
            return Err(BackupError::file(&path)(io::ErrorKind::FileTooLarge.into()));
        }
        files::write_whole(&path, &text)
    }

    /// Their chunks stay.
    pub(super) fn remove(&self, names: &[Name]) -> Result<(), BackupError> {
        for path in names.iter().map(|name| self.path_of(name)) {
            private_files::remove(&path).map_err(BackupError::file(&path))?;
        }
        files::sync_folder(&self.backups())
    }

    /// Moves a damaged backup aside; returns the new path of its description.
    pub(super) fn set_aside(&self, name: &Name) -> Result<PathBuf, BackupError> {
        let folder = self.folder.join(DAMAGED);
        files::make_folder(&folder)?;
        let path = folder.join(name.file());
        fs::rename(self.path_of(name), &path).map_err(BackupError::file(&path))?;
        files::sync_folder(&folder)?;
        files::sync_folder(&self.backups())?;
        Ok(path)
    }

    fn backups(&self) -> PathBuf {
        self.folder.join(BACKUPS)
    }

    fn path_of(&self, name: &Name) -> PathBuf {
        self.backups().join(name.file())
    }
}

fn manifest_in(path: &Path) -> Result<Manifest, BackupError> {
    let text = files::read(path, manifest::BYTES_MAX).map_err(BackupError::file(path))?;
    let path = path.display().to_string();
    let Some(text) = text else {
        return Err(BackupError::Manifest {
            path,
            what: "is longer than the description of a backup".to_owned(),
        });
    };
    Manifest::read(&text).map_err(|fault| match fault {
        ManifestFault::Wrong(what) => BackupError::Manifest { path, what },
        ManifestFault::Newer(found) => BackupError::OtherVersion { path, found, known: VERSION },
    })
}

fn held(folder: &Path, lock: Result<(), TryLockError>) -> Result<(), BackupError> {
    lock.map_err(|error| match error {
        TryLockError::WouldBlock => BackupError::InUse { path: folder.display().to_string() },
        TryLockError::Error(source) => BackupError::file(&folder.join(LOCK))(source),
    })
}

/// Whether the folder is a repository that this program knows.
fn is_repository(folder: &Path) -> Result<bool, BackupError> {
    let path = folder.join(MARKER);
    let text = match files::read(&path, MARKER_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => text.map_err(BackupError::file(&path))?.unwrap_or_default(),
    };
    let path = path.display().to_string();
    match serde_json::from_slice(&text) {
        Ok(Marker { format, version: VERSION }) if format == FORMAT => Ok(true),
        Ok(Marker { format, version }) if format == FORMAT => {
            Err(BackupError::OtherVersion { path, found: version, known: VERSION })
        }
        _ => Err(BackupError::Manifest { path, what: "describes no repository of backups".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backups_are_ordered_by_their_number_and_those_without_one_are_older() {
        let files = [
            "20400101T000000.000Z.json",
            "00000002-20261120T211403.512Z.json",
            "00000010-20250101T000000.000Z.json",
        ];
        let mut names: Vec<_> = files.iter().rev().filter_map(|file| Name::parse(file)).collect();
        names.sort();
        assert_eq!(names.iter().map(Name::file).collect::<Vec<_>>(), files);
        for foreign in [
            "x-2026.json",
            "20261120T211403.512Z.part",
            "+0000009-x.json",
            "+9-x.json",
            "9-x.json",
            "00000000-x.json",
            "000000010-x.json",
            "-x.json",
            "00000001-.json",
            ".json",
            "00000001-\u{1b}[31m.json",
            "00000001-\u{fffd}.json",
            "18446744073709551616-x.json",
        ] {
            assert_eq!(Name::parse(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn no_backup_follows_the_highest_number_and_none_is_lost_for_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = Repository::open_to_write(folder.path()).expect("a repository");
        let add = |id: &str| {
            let (id, release) = (id.to_owned(), String::new());
            let summary = Summary { id, taken_at: 0, release, schema: 1, bytes: 0, new_bytes: 0 };
            repository.add(&Manifest::new(summary, 4_096, 64, Vec::new()))
        };
        add("20261120T211403.512Z").expect("a backup");
        let last = repository.backups().join("18446744073709551615-X.json");
        fs::write(&last, "{}").expect("a file");
        let refused = add("20261121T211403.512Z").expect_err("no number is left").to_string();
        assert!(refused.starts_with(&format!("{} has the highest number", last.display())), "{refused}");
        assert_eq!(repository.names().expect("names").len(), 2);
    }
}
