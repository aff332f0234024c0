//! A file with several readers, each at its own offset.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};

const BUFFER_BYTES: usize = 256 << 10;

/// A regular file, opened once. Clones read the same file at their own offsets, even if its name is gone.
#[derive(Debug, Clone)]
pub struct SharedFile {
    file: Arc<File>,
    bytes: u64,
}

impl SharedFile {
    /// Fails if the file's length cannot be read.
    pub fn new(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), bytes })
    }

    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[must_use]
    pub fn cursor(&self) -> BufReader<Cursor> {
        BufReader::with_capacity(BUFFER_BYTES, Cursor { file: self.clone(), at: 0 })
    }
}

#[derive(Debug)]
pub struct Cursor {
    file: SharedFile,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.bytes.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(Cursor { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // Lengths in a broken file are checked against its real length.
        let end = start.checked_add(length as u64).filter(|end| *end <= self.bytes);
        if end.is_none() {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are not there")));
        }
        let mut bytes = vec![0; length];
        Cursor { file: self.clone(), at: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn two_readers_are_at_places_of_their_own() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"0123456789").unwrap();
        let shared = SharedFile::new(file).unwrap();
        let (mut one, mut two) = (shared.cursor(), shared.cursor());
        let mut pair = [0; 2];
        one.seek(SeekFrom::End(-2)).unwrap();
        one.read_exact(&mut pair).unwrap();
        assert_eq!(&pair, b"89");
        two.read_exact(&mut pair).unwrap();
        assert_eq!(&pair, b"01");
        assert!(shared.get_bytes(8, 3).is_err());
        assert_eq!(&shared.get_bytes(8, 2).unwrap()[..], b"89");
    }
}
