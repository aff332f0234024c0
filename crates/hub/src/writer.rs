//! A growing file, written and hashed on its own thread, so that a slow disk delays no other task.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::modes::open_to_write;

/// Maximum number of chunks that wait for the disk.
const WAITING_MAX: usize = 64;
const BUFFER_BYTES: usize = 1 << 20;

pub(crate) struct Partial {
    file: File,
    sum: Sha256,
    pub(crate) bytes: u64,
}

/// A partial file that receives chunks.
pub(crate) struct Writer {
    chunks: Sender<Bytes>,
    thread: JoinHandle<io::Result<Partial>>,
}

impl Partial {
    /// Opens the file, gives it the mode of its folder, and hashes the bytes of an earlier download, which takes a while for a long file.
    pub(crate) async fn open(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        let open = move || {
            let mut file = open_to_write(&path)?;
            let mut sum = Sha256::new();
            let mut buffer = vec![0; BUFFER_BYTES];
            let mut bytes = 0;
            loop {
                let read = file.read(&mut buffer)?;
                if read == 0 {
                    return Ok(Self { file, sum, bytes });
                }
                sum.update(&buffer[..read]);
                bytes += read as u64;
            }
        };
        spawn_blocking(open).await.map_err(io::Error::other)?
    }

    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        (self.sum, self.bytes) = (Sha256::new(), 0);
        Ok(())
    }

    pub(crate) fn receive(self) -> Writer {
        let (chunks, coming) = channel(WAITING_MAX);
        Writer { chunks, thread: spawn_blocking(move || self.write(coming)) }
    }

    fn write(mut self, mut coming: Receiver<Bytes>) -> io::Result<Self> {
        while let Some(chunk) = coming.blocking_recv() {
            self.file.write_all(&chunk)?;
            self.sum.update(&chunk);
            self.bytes += chunk.len() as u64;
        }
        Ok(self)
    }

    /// Waits until the whole file is on the disk and returns its SHA-256.
    pub(crate) async fn complete(self) -> io::Result<String> {
        let complete = move || self.file.sync_all().map(|()| format!("{:x}", self.sum.finalize()));
        spawn_blocking(complete).await.map_err(io::Error::other)?
    }
}

impl Writer {
    /// Adds a chunk; waits if the disk is slow. `false` if the file cannot be written.
    pub(crate) async fn put(&self, chunk: Bytes) -> bool {
        self.chunks.send(chunk).await.is_ok()
    }

    /// Waits until all chunks are written.
    pub(crate) async fn finish(self) -> io::Result<Partial> {
        drop(self.chunks);
        self.thread.await.map_err(io::Error::other)?
    }
}
