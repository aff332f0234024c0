//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use overnight_base::private_files::{self, folder_of};

use crate::umask;

const BUFFER_BYTES: usize = 256 << 10;
/// The header of an SQLite database (<https://www.sqlite.org/fileformat2.html#magic_header_string>).
const DATABASE_HEADER: [u8; 16] = *b"SQLite format 3\0";

/// A file that gets its name when it is complete. If it is dropped earlier, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    out: BufWriter<File>,
    /// `None` if the target is not a regular file (a terminal, a pipe), which is written directly.
    rename: Option<Rename>,
}

#[derive(Debug)]
struct Rename {
    from: PathBuf,
    to: PathBuf,
    is_done: bool,
}

impl AtomicFile {
    /// Begins the user's file at `path`, with the mode of the user's umask. A link is followed, and a database is never replaced.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        Self::begin(path, |from| {
            let file = File::create(from)?;
            umask::leave_to_user(&file)?;
            Ok(file)
        })
    }

    /// Like [`Self::create`], for a file with secrets: only its owner can open it at any time.
    pub(crate) fn create_private(path: &Path) -> io::Result<Self> {
        Self::begin(path, |from| {
            // An old file may be open elsewhere, or be a link.
            private_files::remove(from)?;
            private_files::create_new(from)
        })
    }

    fn begin(path: &Path, make: impl FnOnce(&Path) -> io::Result<File>) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
            let file = File::options().write(true).open(&target)?;
            return Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), rename: None });
        }
        if is_database(&target) {
            let lost = "it is a database, which would be lost: name another file";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, lost));
        }
        let from = beside(&target, ".part");
        let file = make(&from)?;
        let rename = Some(Rename { from, to: target, is_done: false });
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), rename })
    }

    /// Syncs all bytes to the disk, then renames the file.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(rename) = &mut self.rename else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        fs::rename(&rename.from, &rename.to)?;
        rename.is_done = true;
        private_files::sync_folder(folder_of(&rename.to))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Drop for Rename {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_file(&self.from);
        }
    }
}

pub(crate) fn is_database(path: &Path) -> bool {
    let mut header = [0; DATABASE_HEADER.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok() && header == DATABASE_HEADER
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_and_an_abandoned_one_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"one").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"two").unwrap();
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_database_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("overnight.db");
        fs::write(&path, [&DATABASE_HEADER[..], &[0; 84]].concat()).unwrap();
        for refused in [AtomicFile::create(&path), AtomicFile::create_private(&path)] {
            assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(&path, &DATABASE_HEADER[..9]).unwrap();
        AtomicFile::create(&path).unwrap().commit().unwrap();
    }

    #[test]
    fn a_private_file_replaces_what_another_may_have_open() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("all.jsonl");
        let left = beside(&path, ".part");
        fs::write(&left, "").unwrap();
        let mut opened_before = File::open(&left).unwrap();
        let mut file = AtomicFile::create_private(&path).unwrap();
        assert_eq!(fs::metadata(&left).unwrap().permissions().mode() & 0o777, 0o600);
        file.write_all(b"a secret").unwrap();
        file.commit().unwrap();
        let mut seen = String::new();
        io::Read::read_to_string(&mut opened_before, &mut seen).unwrap();
        assert_eq!((seen.as_str(), fs::read_to_string(&path).unwrap().as_str()), ("", "a secret"));
    }

    #[test]
    fn a_link_is_followed_and_a_device_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let mut file = AtomicFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"new");
        AtomicFile::create(Path::new("/dev/null")).unwrap().commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
