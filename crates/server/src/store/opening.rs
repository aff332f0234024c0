//! Opening and closing the store: the writer's connection, the readers, the folder's lock.
//!
//! Everything else is written in `Store::transaction`. Users, sessions, members, API keys, payments and the like are written in one
//! transaction each, all of it or nothing. What an account asks for (`Store::transaction_of`) takes turns by account. On SQLite the
//! writer's thread runs it between groups; on PostgreSQL it runs on a pooled connection.

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

use crate::store::access;
use crate::store::batch_watches::BatchWatches;
use crate::store::database::folder::{FolderLock, prepare_folder};
use crate::store::database::migrations;
use crate::store::database::settings;
use crate::store::database::{Actor, ReadsFor};
use crate::store::database::{
    Connection, Database, Dialect, Readers, Tx, in_pooled_transaction, in_transaction, statements,
};
use crate::store::effects::EventContext;
use crate::store::encryption::{self, DataKeys};
use crate::store::error::StoreError;
use crate::store::file_watch::FileWatch;
use crate::store::installation::{self, Purpose};
use crate::store::nodes;
use crate::store::objects::{self, Objects};
use crate::store::options::StoreOptions;
use crate::store::queue::expiry::Passed;
use crate::store::read_queue::{LongReaders, LongReads};
use crate::store::schema;
use crate::store::writer::{DiskWatch, ManualWriter, Writer, WriterCore};
use crate::store::writes::{Node, Sequences, WriteContext};

statements! {
    TAKE_TURN = { postgres: "SELECT 1 FROM settings WHERE name = 'sort_key_secret' FOR UPDATE" };
    /// The last row numbers that were given out.
    LAST_NUMBERS = {
        sqlite: "SELECT max((SELECT coalesce(max(seq), 0) FROM requests),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'requests')) AS request,
                   max((SELECT coalesce(max(seq), 0) FROM results),
                       (SELECT coalesce(max(seq), 0) FROM last_deleted WHERE table_name = 'results'),
                       (SELECT coalesce(max(result), 0) FROM ledger WHERE result IS NOT NULL)) AS result",
    };
}

/// Cancels and deletions that accounts have asked for and that wait for the writer: as many as a group may have, so that settles and heartbeats
/// wait for no more.
const ACCOUNT_CANCELS_MAX: usize = 256;

/// The right to do what one node at a time may do. It ends with its connection.
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
    /// On SQLite, what the last transaction beside the writer ran on: to open a connection is to parse the whole schema.
    beside: std::sync::Mutex<Option<Connection>>,
    /// The reserve of the disk as it is set.
    disk_reserve: watch::Sender<Option<u64>>,
    /// The quotas of accounts that have none of their own.
    quotas: watch::Sender<Quotas>,
    secret: [u8; 32],
    data_keys: DataKeys,
    objects: Objects,
    /// Who changes something where no caller does.
    actor: Actor,
    passed: Passed,
    events: Arc<Notify>,
    watches: Arc<BatchWatches>,
    /// When the write-ahead log was emptied last, or opened, in milliseconds.
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
    /// Opens the store as its one server: takes the folder's lock, brings the schema up to date, and starts the writer.
    pub fn open(options: &StoreOptions, clock: SharedClock) -> BoxFuture<'_, Result<Self, StoreError>> {
        // Boxed, so that it is compiled here and not as a part of each program.
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

    /// Opens the store beside a running server, or without one: reads, and the short writes of operator commands. A
    /// folder's schema does not change under the server.
    pub fn open_beside(options: &StoreOptions) -> BoxFuture<'_, Result<Self, StoreError>> {
        // Boxed, so that it is compiled here and not as a part of each command.
        Box::pin(async {
            schema::bring_up_to_date(options).await?;
            prepare_folder(&options.folder)?;
            Self::assemble(options, options.database()?, Purpose::Change, None, Arc::new(SystemClock)).await
        })
    }

    /// As [`Store::open_beside`], for commands that read: nothing is made, and the schema stays as it is.
    ///
    /// # Errors
    /// Also [`StoreError::Outdated`], where the schema is older than this program's.
    pub fn open_to_read(options: &StoreOptions) -> BoxFuture<'_, Result<Self, StoreError>> {
        Box::pin(async {
            let (database, lock) = access::to_read(options)?;
            installation::check(options, Purpose::Read).await?;
            // The modes of a folder that cannot be written are not ours to correct.
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
        // On SQLite one is done and the next waits. On PostgreSQL each takes a reader, of which long reads have half.
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

    /// Waits until no other node has its turn; then it is this process's until the answer is dropped.
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

    /// Does `work` in one transaction: all of it, or nothing where it fails or says [`Tx::undo`]. What no group of the writer
    /// takes in is written so.
    ///
    /// On SQLite it is done by the writer, between groups, where this process serves; it is not to wait for anything else.
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
            // What failed or was abandoned midway is closed with its connection, which rolls it back.
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

    /// As [`Store::transaction`], for what an account asks for. Accounts take turns, so that an account waits for at most one
    /// transaction of each other, however many they ask for.
    pub(super) async fn transaction_of<T: Send + 'static>(
        &self,
        account: AccountKey,
        work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = self.inner.account_transactions.take(account).await.ok_or(StoreError::Stopped)?;
        // The turn goes with the work: that is done even if the caller leaves.
        let in_turn = async move |tx: &mut Tx<'_>| {
            let _turn = turn;
            work(tx).await
        };
        ReadsFor::Service.scope(self.transaction(in_turn)).await
    }

    /// A turn to cancel a request of an account.
    pub(super) async fn take_cancel_turn(&self, account: AccountKey) -> Result<Permit, StoreError> {
        self.inner.account_cancels.take(account).await.ok_or(StoreError::Stopped)
    }

    /// A connection of its own, for the writer and for operator commands.
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

    /// Readers for what goes through many rows on behalf of an account.
    pub(super) fn long_readers(&self, account: AccountKey) -> LongReaders<'_> {
        LongReaders { readers: &self.inner.readers, reads: &self.inner.long_reads, account }
    }

    pub(super) fn writer(&self) -> &Writer {
        &self.inner.writer
    }

    /// This process, where it leases.
    pub(super) fn node(&self) -> Option<&Node> {
        self.inner.node.get()
    }

    /// The files of the folder that this process serves, where the database is one of them.
    pub(super) fn file_watch(&self) -> Option<&Arc<FileWatch>> {
        self.inner.files.get()
    }

    /// Up to when everything with a deadline has ended.
    pub(super) fn passed(&self) -> &Passed {
        &self.inner.passed
    }

    /// Ends when this process has written events since the last time this ended.
    pub async fn events_written(&self) {
        self.inner.events.notified().await;
    }

    pub(super) fn log_emptied_at(&self) -> &AtomicI64 {
        &self.inner.log_emptied_at
    }

    /// Who is woken when requests of batches have ended.
    pub(super) fn batch_watches(&self) -> &Arc<BatchWatches> {
        &self.inner.watches
    }

    /// The installation's secret under which sort keys are made.
    pub fn sort_key_secret(&self) -> &[u8; 32] {
        &self.inner.secret
    }

    /// Whether other nodes may work on the same database.
    pub fn is_shared(&self) -> bool {
        self.dialect() == Dialect::Postgres
    }

    /// Who owns the loops of this process.
    pub fn supervisor(&self) -> &Arc<Supervisor> {
        &self.inner.supervisor
    }

    /// How many writes wait for their group.
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
