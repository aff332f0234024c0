//! Opening and closing the store: the writer's connection, the readers, the folder's lock.
//!
//! `Store::transaction` does all writes outside groups: users, sessions, members, API keys, payments, in one transaction each. For
//! accounts, `Store::transaction_of` takes turns. On SQLite the writer's thread runs it between groups; on PostgreSQL it runs on a pooled
//! connection.

mod closing;
mod limits;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use overnight_base::clock::{SharedClock, SystemClock};
use overnight_base::supervision::Supervisor;
use overnight_base::turns::{Permit, Turns};
use overnight_domain::quotas::Quotas;
use overnight_domain::scheduler::AccountKey;
use tokio::sync::{Mutex, Notify, watch};
use tokio::task::JoinHandle;

use crate::access;
use crate::batch_watches::BatchWatches;
use crate::database::folder::{FolderLock, prepare_folder};
use crate::database::migrations;
use crate::database::settings;
use crate::database::{Actor, ReadsFor};
use crate::database::{
    Connection, Database, Dialect, Readers, Tx, in_pooled_transaction, in_transaction, statements,
};
use crate::effects::EventContext;
use crate::encryption::{self, DataKeys};
use crate::error::StoreError;
use crate::file_watch::FileWatch;
use crate::installation::{self, Purpose};
use crate::nodes;
use crate::objects::{self, Objects};
use crate::options::StoreOptions;
use crate::queue::expiry::Passed;
use crate::read_queue::{LongReaders, LongReads};
use crate::schema;
use crate::writer::{DiskWatch, ManualWriter, Writer, WriterCore};
use crate::writes::{Node, Sequences, WriteContext};

statements! {
    TAKE_TURN = { postgres: "SELECT 1 FROM settings WHERE name = 'sort_key_secret' FOR UPDATE" };
    /// Last row numbers given out.
    LAST_NUMBERS = {
        sqlite: "SELECT max((SELECT coalesce(max(seq), 0) FROM requests),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'requests')) AS request,
                   max((SELECT coalesce(max(seq), 0) FROM results),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'results'),
                       (SELECT coalesce(max(result), 0) FROM ledger WHERE result IS NOT NULL)) AS result",
    };
}

/// Cancels and deletions by accounts that wait for the writer: as many as fit in a group, so that settles and heartbeats wait for no more.
const ACCOUNT_CANCELS_MAX: usize = 256;

/// The right to do work of one node at a time. It ends with its connection.
#[derive(Debug)]
pub struct Turn(
    #[expect(dead_code, reason = "its transaction is open for as long as it lives")] Option<Connection>,
);

/// A handle on the database; clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    readers: Readers,
    long_reads: LongReads,
    account_transactions: Turns,
    account_cancels: Turns,
    writer: Writer,
    database: Database,
    /// On SQLite, the connection of the last transaction outside the writer: opening one parses the whole schema.
    beside: std::sync::Mutex<Option<Connection>>,
    disk_reserve: watch::Sender<Option<u64>>,
    /// Of accounts without quotas of their own.
    quotas: watch::Sender<Quotas>,
    secret: [u8; 32],
    data_keys: DataKeys,
    objects: Objects,
    /// Used if no caller is set.
    actor: Actor,
    passed: Passed,
    events: Arc<Notify>,
    watches: Arc<BatchWatches>,
    /// When the log was emptied, or opened, in milliseconds.
    log_emptied_at: AtomicI64,
    node: OnceLock<Node>,
    files: OnceLock<Arc<FileWatch>>,
    supervisor: Arc<Supervisor>,
    task: Mutex<Option<JoinHandle<()>>>,
    lock: Mutex<Option<FolderLock>>,
}

impl Drop for Inner {
    /// The writer's thread ends with the last handle.
    fn drop(&mut self) {
        self.writer.close();
    }
}

impl Store {
    /// As its one server: takes the folder's lock, brings the schema up to date, and starts the writer.
    pub fn open(options: &StoreOptions, clock: SharedClock) -> BoxFuture<'_, Result<Self, StoreError>> {
        // Boxed, so that it is compiled once here, not in each program.
        Box::pin(async move {
            let (store, mut core) = Self::open_core(options, Arc::clone(&clock), clock.now()).await?;
            core.look_at_disk(clock.now()).await;
            *store.inner.task.lock().await = Some(core.spawn(clock)?);
            Ok(store)
        })
    }

    /// As [`Store::open`], with the writer in the caller's hand.
    pub async fn open_manual(options: &StoreOptions, now: i64) -> Result<(Self, ManualWriter), StoreError> {
        let (store, core) = Self::open_core(options, Arc::new(SystemClock), now).await?;
        Ok((store, ManualWriter::new(core)))
    }

    /// While a server runs, or without one: for reads and short writes of operator commands. A folder's schema does not change under the
    /// server.
    pub fn open_beside(options: &StoreOptions) -> BoxFuture<'_, Result<Self, StoreError>> {
        // Boxed, so that it is compiled once here, not in each command.
        Box::pin(async {
            schema::bring_up_to_date(options).await?;
            prepare_folder(&options.folder)?;
            Self::assemble(options, options.database()?, Purpose::Change, None, Arc::new(SystemClock)).await
        })
    }

    /// As [`Store::open_beside`], for commands that only read: no file is created, and the schema stays. Fails with
    /// [`StoreError::Outdated`] if the schema is older than this program's.
    pub fn open_to_read(options: &StoreOptions) -> BoxFuture<'_, Result<Self, StoreError>> {
        Box::pin(async {
            let (database, lock) = access::to_read(options)?;
            installation::check(options, Purpose::Read).await?;
            // The modes of a read-only folder are not ours to correct.
            if !database.is_read_only() {
                prepare_folder(&options.folder)?;
            }
            Self::assemble(options, database, Purpose::Read, lock, Arc::new(SystemClock)).await
        })
    }

    async fn open_core(
        options: &StoreOptions,
        clock: SharedClock,
        now: i64,
    ) -> Result<(Self, WriterCore), StoreError> {
        installation::check(options, Purpose::Serve).await?;
        prepare_folder(&options.folder)?;
        let lock = FolderLock::take(&options.folder)?;
        let store = Self::assemble(options, options.database()?, Purpose::Serve, Some(lock), clock).await?;
        let writer = store.writer().clone();
        encryption::prepare(&store).await?;
        objects::check(&store).await?;
        let mut connection = store.connect().await?;
        let sequences = read_sequences(&mut connection).await?;
        let node = nodes::begin(&mut connection, &options.node, options.schedules, now).await?;
        let node = store.inner.node.get_or_init(|| node).clone();
        let database = store.inner.database.clone();
        let events = EventContext { secret: store.inner.secret, written: Arc::clone(&store.inner.events) };
        let watches = Arc::clone(store.batch_watches());
        let context = WriteContext { node, quotas: store.inner.quotas.subscribe(), events, watches };
        let watched = database.path().map(ToOwned::to_owned);
        let files = watched.as_ref().map(|_| Arc::new(FileWatch::of(&options.folder)));
        let files = files.map(|files| Arc::clone(store.inner.files.get_or_init(|| files)));
        let disk = watched.map(|file| DiskWatch::new(file, store.inner.disk_reserve.subscribe()));
        let supervisor = Arc::clone(store.supervisor());
        let core = WriterCore::new(&writer, database, connection, sequences, context, disk, supervisor);
        Ok((store, core.over(files)))
    }

    async fn assemble(
        options: &StoreOptions,
        database: Database,
        purpose: Purpose,
        lock: Option<FolderLock>,
        clock: SharedClock,
    ) -> Result<Self, StoreError> {
        let supervisor = Arc::<Supervisor>::default();
        let database = database.supervised(&supervisor);
        let mut connection = database.connect().await?;
        if purpose != Purpose::Read {
            migrations::OURS.run(&mut connection).await?;
        }
        let secret = settings::sort_key_secret(&mut connection, options.sort_key_secret).await?;
        if purpose == Purpose::Serve || purpose == Purpose::Change && options.server_url.is_none() {
            installation::note(&options.folder, &secret)?;
        }
        let readers = Readers::open(database.clone(), options.readers).await?;
        // On SQLite one runs and the next waits. On PostgreSQL each takes a reader; long reads have half of them.
        let account_transactions = if options.server_url.is_some() { 1 } else { 2 };
        let log_emptied_at = AtomicI64::new(clock.now());
        let inner = Inner {
            readers,
            long_reads: LongReads::over(options.readers as usize / 2),
            account_transactions: Turns::over(account_transactions),
            account_cancels: Turns::over(ACCOUNT_CANCELS_MAX),
            writer: Writer::default(),
            database,
            beside: std::sync::Mutex::default(),
            disk_reserve: watch::Sender::new(options.disk_reserve),
            quotas: watch::Sender::new(options.default_quotas()),
            secret,
            data_keys: DataKeys::new(options.encrypts),
            objects: Objects::open(options.object_store.as_ref(), clock)?,
            actor: options.actor(),
            passed: Passed::default(),
            events: Arc::default(),
            watches: Arc::default(),
            log_emptied_at,
            node: OnceLock::new(),
            files: OnceLock::new(),
            supervisor,
            task: Mutex::new(None),
            lock: Mutex::new(lock),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Waits until no other node has its turn; this process then has it until the answer is dropped.
    pub async fn take_turn(&self) -> Result<Turn, StoreError> {
        if self.dialect() == Dialect::Sqlite {
            return Ok(Turn(None));
        }
        let mut connection = self.connect().await?;
        let text =
            "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '30s'; SET LOCAL lock_timeout = '40s'";
        connection.execute_all(text).await?;
        connection.fetch(TAKE_TURN.unbound()).await?;
        Ok(Turn(Some(connection)))
    }

    /// Runs `work` in one transaction: all of it, or none if it fails or calls [`Tx::undo`]. For writes outside groups.
    ///
    /// On SQLite the serving process's writer runs it between groups, so it must not wait for anything else.
    pub(super) async fn transaction<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let actor = Actor::current().unwrap_or_else(|| self.inner.actor.clone());
        let work = async move |tx: &mut Tx<'_>| {
            tx.act_as(actor);
            work(tx).await
        };
        if self.writer().takes_transactions() {
            return self.writer().transact(work).await;
        }
        if self.dialect() == Dialect::Sqlite {
            let idle = self.take_beside();
            let mut connection = match idle {
                Some(connection) => connection,
                None => self.inner.database.connect_beside().await?,
            };
            let outcome = in_transaction(&mut connection, work).await;
            // A failed or abandoned transaction is rolled back by closing its connection.
            if outcome.is_ok() {
                self.inner.beside.lock().unwrap_or_else(PoisonError::into_inner).replace(connection);
            }
            return outcome;
        }
        in_pooled_transaction(self.readers(), work).await
    }

    fn take_beside(&self) -> Option<Connection> {
        self.inner.beside.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// As [`Store::transaction`], for a call of an account. Accounts take turns, so that one waits for at most one transaction of each
    /// other account.
    pub(super) async fn transaction_of<T: Send + 'static>(
        &self,
        account: AccountKey,
        work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = self.inner.account_transactions.take(account).await.ok_or(StoreError::Stopped)?;
        // The turn goes with the work, which is done even if the caller leaves.
        let in_turn = async move |tx: &mut Tx<'_>| {
            let _turn = turn;
            work(tx).await
        };
        ReadsFor::Service.scope(self.transaction(in_turn)).await
    }

    pub(super) async fn take_cancel_turn(&self, account: AccountKey) -> Result<Permit, StoreError> {
        self.inner.account_cancels.take(account).await.ok_or(StoreError::Stopped)
    }

    /// For the writer and operator commands.
    pub(super) async fn connect(&self) -> Result<Connection, StoreError> {
        self.inner.database.connect().await
    }

    pub(super) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.inner.database.dialect()
    }

    pub(super) fn readers(&self) -> &Readers {
        &self.inner.readers
    }

    pub(super) fn data_keys(&self) -> &DataKeys {
        &self.inner.data_keys
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.inner.objects
    }

    /// For reads of many rows on behalf of an account.
    pub(super) fn long_readers(&self, account: AccountKey) -> LongReaders<'_> {
        LongReaders { readers: &self.inner.readers, reads: &self.inner.long_reads, account }
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// `None` if this process does not lease.
    pub(super) fn node(&self) -> Option<&Node> {
        self.inner.node.get()
    }

    /// `None` unless this process serves a folder's database.
    pub(super) fn file_watch(&self) -> Option<&Arc<FileWatch>> {
        self.inner.files.get()
    }

    /// Up to when all requests with deadlines have ended.
    pub(super) fn passed(&self) -> &Passed {
        &self.inner.passed
    }

    /// Returns once this process has written events since the previous return.
    pub async fn events_written(&self) {
        self.inner.events.notified().await;
    }

    pub(super) fn log_emptied_at(&self) -> &AtomicI64 {
        &self.inner.log_emptied_at
    }

    pub(super) fn batch_watches(&self) -> &Arc<BatchWatches> {
        &self.inner.watches
    }

    /// Sort keys are made under it.
    pub fn sort_key_secret(&self) -> &[u8; 32] {
        &self.inner.secret
    }

    /// Whether other nodes may work on the same database.
    pub fn is_shared(&self) -> bool {
        self.dialect() == Dialect::Postgres
    }

    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.inner.supervisor
    }

    pub fn writes_waiting(&self) -> usize {
        self.inner.writer.depth()
    }
}

async fn read_sequences(connection: &mut Connection) -> Result<Sequences, StoreError> {
    if connection.dialect() == Dialect::Postgres {
        return Ok(Sequences::default());
    }
    let row = connection.fetch_one(LAST_NUMBERS.unbound()).await?;
    Ok(Sequences { request: row.get::<i64>("request")? + 1, result: row.get::<i64>("result")? + 1 })
}
