//! Chunks: runs of pages, each in a file that its digest names.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use overnight_base::private_files;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use zstd::zstd_safe::compress_bound;

use crate::operations::backup::errors::BackupError;
use crate::operations::backup::files;
use crate::operations::transfer::hex;

/// The lowest level: while a service runs, time matters more than the tenth that higher levels save.
const LEVEL: i32 = 1;
const ENDING: &str = ".zst";
/// A chunk's folder is named by the first digits of its digest.
const FOLDER_DIGITS: usize = 2;

/// SHA-256 of a chunk, written in hexadecimal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) digest: Digest,
    /// Bytes that were written for it.
    pub(super) new_bytes: u64,
    /// Its file was damaged and written again.
    pub(super) is_repaired: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Chunks {
    kept: PathBuf,
    incoming: PathBuf,
}

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Evenly distributed, to divide chunks into parts.
    pub(super) const fn first_byte(self) -> u8 {
        self.0[0]
    }

    fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 64 || !text.as_bytes().iter().all(is_plain) {
            return None;
        }
        let byte = |place: usize| u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok();
        let mut digest = [0; 32];
        for (place, digit) in digest.iter_mut().enumerate() {
            *digit = byte(place)?;
        }
        Some(Self(digest))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("no SHA-256 in hexadecimal digits"))
    }
}

impl Chunks {
    pub(super) fn in_repository(folder: &Path) -> Self {
        Self { kept: folder.join("chunks"), incoming: folder.join("incoming") }
    }

    /// Deletes remnants of an unfinished backup.
    pub(super) fn begin(&self) -> Result<(), BackupError> {
        match fs::remove_dir_all(&self.incoming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BackupError::file(&self.incoming)(error));
            }
            _ => {}
        }
        files::make_folder(&self.incoming)?;
        files::make_folder(&self.kept)
    }

    /// Stores a chunk, unless the repository has it. An existing file is read and compared, and written again if damaged. Durable once
    /// [`Chunks::settle`] returns.
    pub(super) fn store(&self, bytes: &[u8]) -> Result<Stored, BackupError> {
        let digest = Digest::of(bytes);
        let is_repaired = match self.read(digest, bytes.len()) {
            Ok(kept) if kept == bytes => return Ok(Stored { digest, new_bytes: 0, is_repaired: false }),
            Err(BackupError::MissingChunk { .. }) => false,
            _ => true,
        };
        let path = self.incoming.join(hex(&digest.0));
        let mut file = match private_files::create_new(&path) {
            // Another chunk of this backup has the same content.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Ok(Stored { digest, new_bytes: 0, is_repaired: false });
            }
            file => file.map_err(BackupError::file(&path))?,
        };
        let written = zstd::bulk::compress(bytes, LEVEL).and_then(|compressed| {
            file.write_all(&compressed)?;
            Ok(compressed.len() as u64)
        });
        let new_bytes = written.map_err(BackupError::file(&path))?;
        Ok(Stored { digest, new_bytes, is_repaired })
    }

    /// Gives stored chunks their names, once all are on the disk.
    pub(super) fn settle(&self) -> Result<(), BackupError> {
        files::sync_files_in(&self.incoming).map_err(BackupError::file(&self.incoming))?;
        let mut folders = BTreeSet::new();
        for name in files::names_in(&self.incoming)? {
            let Some(digest) = Digest::parse(&name) else { continue };
            let path = self.path_of(digest);
            let folder = path.parent().unwrap_or(&self.kept).to_owned();
            if folders.insert(folder.clone()) {
                files::make_folder(&folder)?;
            }
            fs::rename(self.incoming.join(&name), &path).map_err(BackupError::file(&path))?;
        }
        folders.iter().chain([&self.kept]).try_for_each(|folder| files::sync_folder(folder))
    }

    /// Checks the digest.
    pub(super) fn load(&self, digest: Digest, length: usize) -> Result<Vec<u8>, BackupError> {
        let bytes = self.read(digest, length)?;
        if bytes.len() != length || Digest::of(&bytes) != digest {
            return Err(self.damaged(digest, "was changed: its content has another SHA-256 than its name"));
        }
        Ok(bytes)
    }

    /// Up to `length_max` bytes of a chunk's file.
    fn read(&self, digest: Digest, length_max: usize) -> Result<Vec<u8>, BackupError> {
        let path = self.path_of(digest);
        let compressed = match files::read(&path, compress_bound(length_max) as u64) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(BackupError::MissingChunk { path: path.display().to_string() });
            }
            read => read.map_err(BackupError::file(&path))?,
        };
        let compressed = compressed
            .ok_or_else(|| self.damaged(digest, "was changed: it is longer than what its pages need"))?;
        let bytes = zstd::bulk::decompress(&compressed, length_max);
        bytes.map_err(|_| self.damaged(digest, "was cut off or changed: it cannot be decompressed"))
    }

    fn damaged(&self, digest: Digest, what: &'static str) -> BackupError {
        BackupError::DamagedChunk { path: self.path_of(digest).display().to_string(), what }
    }

    pub(super) fn present(&self) -> Result<HashSet<Digest>, BackupError> {
        let mut present = HashSet::new();
        for folder in files::names_in(&self.kept)?.into_iter().filter(|name| name.len() == FOLDER_DIGITS) {
            let names = files::names_in(&self.kept.join(folder))?;
            present.extend(names.iter().filter_map(|name| name.strip_suffix(ENDING).and_then(Digest::parse)));
        }
        Ok(present)
    }

    /// Deletes chunks for which `is_used` returns false; returns their number and bytes.
    pub(super) fn delete_unused(&self, is_used: impl Fn(Digest) -> bool) -> Result<(u64, u64), BackupError> {
        let (mut count, mut bytes) = (0, 0);
        for digest in self.present()?.into_iter().filter(|digest| !is_used(*digest)) {
            let path = self.path_of(digest);
            bytes += fs::metadata(&path).map_or(0, |found| found.len());
            fs::remove_file(&path).map_err(BackupError::file(&path))?;
            count += 1;
        }
        Ok((count, bytes))
    }

    pub(super) fn path_of(&self, digest: Digest) -> PathBuf {
        let name = hex(&digest.0);
        self.kept.join(&name[..FOLDER_DIGITS]).join(name + ENDING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks() -> (Chunks, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let chunks = Chunks::in_repository(folder.path());
        chunks.begin().expect("folders");
        (chunks, folder)
    }

    #[test]
    fn what_is_the_same_is_stored_once_and_read_as_it_was() {
        let (chunks, _folder) = chunks();
        let Stored { digest, new_bytes, .. } = chunks.store(b"pages").expect("a chunk");
        assert!(new_bytes > 0);
        let same = Stored { digest, new_bytes: 0, is_repaired: false };
        assert_eq!(chunks.store(b"pages").expect("the same"), same);
        assert!(matches!(chunks.load(digest, 5), Err(BackupError::MissingChunk { .. })), "not settled yet");
        chunks.settle().expect("a name");
        assert_eq!(chunks.store(b"pages").expect("the same"), same);
        assert_eq!(chunks.load(digest, 5).expect("a chunk"), b"pages");
    }

    #[test]
    fn file_that_is_longer_than_its_pages_need_is_damaged_and_a_link_is_not_followed() {
        let (chunks, folder) = chunks();
        let noise: Vec<u8> = (0..64u64).flat_map(|place| Sha256::digest(place.to_be_bytes())).collect();
        let digest = chunks.store(&noise).expect("a chunk").digest;
        chunks.settle().expect("a name");
        assert_eq!(chunks.load(digest, noise.len()).expect("what nothing compresses"), noise);
        let (path, away) = (chunks.path_of(digest), folder.path().join("away"));
        let file = fs::OpenOptions::new().write(true).open(&path).expect("a file");
        file.set_len(1 << 40).expect("a sparse file");
        let refused = chunks.load(digest, noise.len());
        assert!(matches!(refused, Err(BackupError::DamagedChunk { .. })), "{refused:?}");
        assert!(chunks.store(&noise).expect("a chunk").is_repaired);
        chunks.settle().expect("a name");
        fs::rename(&path, &away).expect("a move");
        std::os::unix::fs::symlink(&away, &path).expect("a link");
        let refused = chunks.load(digest, noise.len());
        assert!(matches!(refused, Err(BackupError::File { .. })), "{refused:?}");
        assert!(chunks.store(&noise).expect("a chunk").is_repaired, "a file takes the place of the link");
        chunks.settle().expect("a name");
        assert_eq!(chunks.load(digest, noise.len()).expect("a chunk"), noise);
    }

    #[test]
    fn what_broke_off_is_no_chunk() {
        let (chunks, _folder) = chunks();
        let digest = chunks.store(b"pages").expect("a chunk").digest;
        chunks.begin().expect("a new begin");
        chunks.settle().expect("nothing");
        assert!(matches!(chunks.load(digest, 5), Err(BackupError::MissingChunk { .. })));
        assert!(chunks.store(b"pages").expect("a chunk").new_bytes > 0, "it is stored anew");
    }

    #[test]
    fn what_cannot_be_read_is_not_told_to_be_missing() {
        let (chunks, _folder) = chunks();
        let digest = chunks.store(b"pages").expect("a chunk").digest;
        chunks.settle().expect("a name");
        let path = chunks.path_of(digest);
        fs::remove_file(&path).expect("a file");
        fs::create_dir(&path).expect("a folder in its place");
        assert!(matches!(chunks.load(digest, 5), Err(BackupError::File { .. })));
    }

    #[test]
    fn damaged_chunk_is_written_again_when_its_bytes_are_stored() {
        let (chunks, _folder) = chunks();
        let stored = chunks.store(b"pages").expect("a chunk");
        chunks.settle().expect("a name");
        let path = chunks.path_of(stored.digest);
        let whole = fs::read(&path).expect("a file");
        for damage in [whole[..3].to_vec(), Vec::new(), zstd::bulk::compress(b"other", 1).unwrap()] {
            fs::write(&path, damage).expect("damage");
            assert_eq!(chunks.store(b"pages").expect("a chunk"), Stored { is_repaired: true, ..stored });
            chunks.settle().expect("a name");
            assert_eq!(chunks.load(stored.digest, 5).expect("a chunk"), b"pages");
        }
    }

    #[test]
    fn what_nobody_uses_is_deleted_and_told_of() {
        let (chunks, _folder) = chunks();
        let stored = [b"first".as_slice(), b"second", b"third"].map(|part| chunks.store(part).expect("it"));
        let [first, kept, third] = stored;
        chunks.settle().expect("names");
        fs::write(chunks.kept.join(".nfs0000"), "").expect("a file of another program");
        let deleted = chunks.delete_unused(|digest| digest == kept.digest).expect("a deletion");
        assert_eq!(deleted, (2, first.new_bytes + third.new_bytes));
        assert_eq!(chunks.load(kept.digest, 6).expect("what is used"), b"second");
        assert!(matches!(chunks.load(first.digest, 5), Err(BackupError::MissingChunk { .. })));
        assert_eq!(chunks.delete_unused(|digest| digest == kept.digest).expect("nothing"), (0, 0));
    }

    #[test]
    fn a_digest_is_nothing_but_64_digits() {
        let text = hex(&Digest::of(b"pages").0);
        assert_eq!(Digest::parse(&text), Some(Digest::of(b"pages")));
        for text in
            ["", &text[1..], &text.to_uppercase(), &format!("../{}", &text[3..]), &format!("é{}", &text[2..])]
        {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
