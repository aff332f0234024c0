//! Writes what comes, and sums it, on a thread of its own: a disk that stalls stalls no one else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::PathBuf;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

/// Chunks that wait for the disk.
const WAITING_MAX: usize = 64;
const BUFFER_BYTES: usize = 1 << 20;

/// A file that grows.
pub(crate) struct Writer {
    chunks: Sender<Bytes>,
    thread: JoinHandle<io::Result<Written>>,
}

/// What was written, and what was there before.
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Writer {
    /// Goes on behind the `kept` first bytes of the file at `path`, which are summed first; what is behind them goes.
    pub(crate) fn begin(path: PathBuf, kept: u64) -> Self {
        let (chunks, coming) = channel(WAITING_MAX);
        let thread = tokio::task::spawn_blocking(move || write(&path, kept, coming));
        Self { chunks, thread }
    }

    /// Hands a chunk on; waits while the disk is behind. `false` where the file cannot be written.
    pub(crate) async fn put(&self, chunk: Bytes) -> bool {
        self.chunks.send(chunk).await.is_ok()
    }

    /// Waits until all is on the disk.
    pub(crate) async fn finish(self) -> io::Result<Written> {
        drop(self.chunks);
        self.thread.await.map_err(io::Error::other)?
    }
}

fn write(path: &PathBuf, kept: u64, mut coming: Receiver<Bytes>) -> io::Result<Written> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
    let mut sum = Sha256::new();
    let mut bytes = sum_start(&mut file, kept, &mut sum)?;
    file.set_len(bytes)?;
    while let Some(chunk) = coming.blocking_recv() {
        file.write_all(&chunk)?;
        sum.update(&chunk);
        bytes += chunk.len() as u64;
    }
    file.sync_all()?;
    Ok(Written { bytes, sha256: format!("{:x}", sum.finalize()) })
}

/// Sums the beginning of a file; how much of it there was.
fn sum_start(file: &mut File, kept: u64, sum: &mut Sha256) -> io::Result<u64> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut start, mut bytes) = (Read::take(file, kept), 0);
    loop {
        let read = start.read(&mut buffer)?;
        if read == 0 {
            return Ok(bytes);
        }
        sum.update(&buffer[..read]);
        bytes += read as u64;
    }
}
