//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 256 << 10;

/// A file that takes its name when it is complete. Dropped before, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    out: BufWriter<File>,
    /// `None` where the target is no regular file (a terminal, a pipe), which is written to directly.
    rename: Option<Rename>,
}

#[derive(Debug)]
struct Rename {
    from: PathBuf,
    to: PathBuf,
    is_done: bool,
}

impl AtomicFile {
    /// Begins the file that will be at `path`. A link there is followed.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
            let file = File::options().write(true).open(&target)?;
            return Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), rename: None });
        }
        let from = beside(&target, ".part");
        let file = File::create(&from)?;
        let rename = Some(Rename { from, to: target, is_done: false });
        Ok(Self { out: BufWriter::with_capacity(BUFFER_BYTES, file), rename })
    }

    /// The same, read by its owner only.
    pub(crate) fn create_private(path: &Path) -> io::Result<Self> {
        let file = Self::create(path)?;
        #[cfg(unix)]
        if file.rename.is_some() {
            use std::os::unix::fs::PermissionsExt;
            file.out.get_ref().set_permissions(fs::Permissions::from_mode(0o600))?;
        }
        Ok(file)
    }

    /// Gives it its name, once every byte is on the disk.
    pub(crate) fn commit(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(rename) = &mut self.rename else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        fs::rename(&rename.from, &rename.to)?;
        rename.is_done = true;
        sync_folder_of(&rename.to)
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

/// The path with `suffix` after its file name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes a new name survive power loss.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder_of(path))?.sync_all() } else { Ok(()) }
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

    #[cfg(unix)]
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
