//! Opening and closing the database: one writer connection, a pool of readers, the folder's lock.

use std::fs::DirBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Row, SqliteConnection};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use super::error::StoreError;
use super::expiry::Passed;
use super::folder::FolderLock;
use super::readers::Readers;
use super::writer::{ManualWriter, Sequences, Writer, WriterCore};
use super::{migrations, owners, settings};
use crate::clock::SharedClock;

/// The database in the data folder.
pub const DATABASE_FILE: &str = "overnight.db";
const BUSY: Duration = Duration::from_secs(5);
const STATEMENTS_KEPT: usize = 512;
const READER_ROWS_AHEAD: usize = 128;

/// Pages that the writer keeps, in KiB: it comes back to the same ones from all over the tables.
const WRITER_CACHE_KIB: u32 = 64 << 10;

/// Pages that each reader keeps, in KiB: a long list passes every page once, and the system's cache has them anyway.
const READER_CACHE_KIB: u32 = 1 << 10;

/// How much a commit costs and promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A commit survives power loss.
    Full,
    /// A commit survives the end of the process only: for simulations.
    ProcessOnly,
}

/// How to open a store.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The data folder; made if it is absent.
    pub folder: PathBuf,
    /// What a commit promises.
    pub durability: Durability,
    /// The page size of a new database, in bytes; an old one keeps its own.
    pub page_bytes: u32,
    /// How many readers there are.
    pub readers: u32,
    /// The sort-key secret of a new database, where a seed is to replay; by chance otherwise. An old one keeps its own.
    pub sort_key_secret: Option<[u8; 32]>,
}

impl StoreOptions {
    /// The options of a real service over `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder, durability: Durability::Full, page_bytes: 4_096, readers: 4, sort_key_secret: None }
    }
}

/// A handle on the database; clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    readers: Readers,
    writer: Writer,
    options: SqliteConnectOptions,
    secret: [u8; 32],
    passed: Passed,
    task: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Option<FolderLock>>,
}

impl Store {
    /// Opens the store as its one server: takes the folder's lock, brings the schema up to date, and starts the writer.
    pub async fn open(options: &StoreOptions, clock: SharedClock) -> Result<Self, StoreError> {
        let (store, core) = Self::open_core(options, clock.now()).await?;
        *store.inner.task.lock().await = Some(core.spawn(clock));
        Ok(store)
    }

    /// As [`Store::open`], with the writer in the caller's hand.
    pub async fn open_manual(options: &StoreOptions, now: i64) -> Result<(Self, ManualWriter), StoreError> {
        let (store, core) = Self::open_core(options, now).await?;
        Ok((store, ManualWriter::new(core)))
    }

    /// Opens the store beside a running server, or without one: reads, and the short writes of operator commands.
    pub async fn open_beside(options: &StoreOptions) -> Result<Self, StoreError> {
        make_folder(&options.folder)?;
        Self::assemble(options, None, Writer::default()).await
    }

    async fn open_core(options: &StoreOptions, now: i64) -> Result<(Self, WriterCore), StoreError> {
        make_folder(&options.folder)?;
        let lock = FolderLock::take(&options.folder)?;
        let writer = Writer::default();
        let store = Self::assemble(options, Some(lock), writer.clone()).await?;
        let mut connection = store.connect().await?;
        let sequences = read_sequences(&mut connection).await?;
        let owner = owners::begin(&mut connection, now).await?;
        Ok((store, WriterCore::new(&writer, connection, sequences, owner)))
    }

    async fn assemble(
        options: &StoreOptions,
        lock: Option<FolderLock>,
        writer: Writer,
    ) -> Result<Self, StoreError> {
        let connect = connect_options(options);
        let mut connection = connect.connect().await?;
        migrations::run(&mut connection).await?;
        let secret = settings::sort_key_secret(&mut connection, options.sort_key_secret).await?;
        let reading = connect
            .clone()
            .read_only(true)
            .create_if_missing(false)
            .row_buffer_size(READER_ROWS_AHEAD)
            .pragma("cache_size", cache_size(READER_CACHE_KIB));
        let readers = Readers::open(reading, options.readers).await?;
        let inner = Inner {
            readers,
            writer,
            options: connect,
            secret,
            passed: Passed::default(),
            task: Mutex::new(None),
            lock: Mutex::new(lock),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// A connection of its own, for the writer and for operator commands.
    pub(super) async fn connect(&self) -> Result<SqliteConnection, StoreError> {
        Ok(self.inner.options.connect().await?)
    }

    pub(super) fn readers(&self) -> &Readers {
        &self.inner.readers
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// Up to when everything with a deadline has ended.
    pub(super) fn passed(&self) -> &Passed {
        &self.inner.passed
    }

    /// The installation's secret under which sort keys are made.
    pub fn sort_key_secret(&self) -> &[u8; 32] {
        &self.inner.secret
    }

    /// Why writes are refused now, if they are.
    pub fn refusing(&self) -> Option<&'static str> {
        self.inner.writer.refusing()
    }

    /// How many writes wait for their group.
    pub fn writes_waiting(&self) -> usize {
        self.inner.writer.depth()
    }

    /// Does what is in line, then closes the database and gives the folder back.
    pub async fn close(&self) {
        self.inner.writer.close();
        if let Some(task) = self.inner.task.lock().await.take() {
            let _ = task.await;
        }
        self.inner.readers.close().await;
        self.inner.lock.lock().await.take();
    }
}

/// A folder that is made here is its owner's only: it will hold prompts and a key.
fn make_folder(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| StoreError::File { path: folder.display().to_string(), source })
}

fn connect_options(options: &StoreOptions) -> SqliteConnectOptions {
    let synchronous = match options.durability {
        Durability::Full => SqliteSynchronous::Full,
        Durability::ProcessOnly => SqliteSynchronous::Off,
    };
    SqliteConnectOptions::new()
        .filename(options.folder.join(DATABASE_FILE))
        .create_if_missing(true)
        .page_size(options.page_bytes)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .busy_timeout(BUSY)
        .statement_cache_capacity(STATEMENTS_KEPT)
        .pragma("wal_autocheckpoint", "4000")
        .pragma("cache_size", cache_size(WRITER_CACHE_KIB))
        .pragma("temp_store", "memory")
        .foreign_keys(false)
}

/// In pages if positive, in KiB if negative.
fn cache_size(kib: u32) -> String {
    format!("-{kib}")
}

async fn read_sequences(connection: &mut SqliteConnection) -> Result<Sequences, StoreError> {
    let text =
        "SELECT (SELECT coalesce(max(seq), 0) FROM requests), (SELECT coalesce(max(seq), 0) FROM results)";
    let row = sqlx::query(text).fetch_one(connection).await?;
    Ok(Sequences { request: row.try_get::<i64, _>(0)? + 1, result: row.try_get::<i64, _>(1)? + 1 })
}
