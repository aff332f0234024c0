//! Readers: connections that see committed data, lent for one read at a time.
//!
//! A read is done even if its caller leaves, and has its turn until then. Otherwise an account that abandons reads could have any number under
//! way in the database, and each would cost a new connection.
//!
//! The one returned last is lent first, because its pages are warm. A pool of `sqlx` would check a connection each time it is returned,
//! which is a round trip for every read. Callers take turns: each account has one read, and so have all unknown callers together, whose
//! addresses take turns at it. Otherwise a thousand addresses would have a thousand reads for each read of an account. Unknown are callers
//! whose key did not open an account lately, and those whose session was not read yet. The service's own reads go first, because it
//! schedules for all of them, and so do reads that hold a turn of another kind already.
//! `http/calls.rs` names the caller once for all reads of its call (`ReadsFor`, a task-local); tasks that a call spawns are given the same
//! name.
//!
//! On SQLite each reader has a thread and answers a page in one message. Lists are paged by key, so that no reader holds anything up.

use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use overnight_base::turns::{Permit, Turns};
use overnight_domain::scheduler::AccountKey;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::StoreError;
use crate::database::connection::Connection;
use crate::database::options::Database;
use crate::database::reads_for::ReadsFor;
use crate::database::row::Row;
use crate::database::settings::FIND_SORT_KEY_SECRET;
use crate::database::statement::Statement;

const PROBE_MAX: Duration = Duration::from_secs(1);

/// Connections, opened on first use; clones share them.
#[derive(Clone)]
pub(crate) struct Readers(Arc<Pool>);

struct Pool {
    database: Database,
    count: u32,
    /// Of accounts, and of unknown callers.
    turns: Turns<Option<AccountKey>>,
    /// Of the addresses of unknown callers.
    unknown: Turns<ReadsFor>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Why the database was unavailable when last needed, if it was.
    outage: Mutex<Option<&'static str>>,
    /// Held by the caller who finds out whether the outage has passed.
    probing: Semaphore,
}

impl Readers {
    /// Opens the first of `count` connections.
    pub(crate) async fn open(database: Database, count: u32) -> Result<Self, StoreError> {
        let permits = Arc::new(Semaphore::new(count as usize));
        let idle = Mutex::new(vec![database.connect_reader().await?]);
        let (turns, unknown) = (Turns::over(count as usize), Turns::over(count as usize / 2));
        let (outage, probing) = (Mutex::default(), Semaphore::new(1));
        Ok(Self(Arc::new(Pool { database, count, turns, unknown, permits, idle, outage, probing })))
    }

    /// A connection that was lost while idle is replaced.
    pub(crate) fn fetch_all(
        &self,
        statement: Statement,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send {
        self.fetch(statement, None)
    }

    /// As [`Readers::fetch_all`], for a caller that holds a turn: it ends with the read.
    pub(crate) fn fetch_in_turn(
        &self,
        statement: Statement,
        turn: Permit,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send {
        ReadsFor::Service.scope(self.fetch(statement, Some(turn)))
    }

    fn fetch(
        &self,
        statement: Statement,
        turn: Option<Permit>,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send {
        self.take().and_then(|reader| ToItsEnd::new(read(reader, statement, turn))).inspect_err(|error| {
            if let Some(why) = error.outage() {
                self.note(Some(why));
            }
        })
    }

    pub(crate) async fn fetch_optional(&self, statement: Statement) -> Result<Option<Row>, StoreError> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Of a read that always has a row.
    pub(crate) async fn fetch_one(&self, statement: Statement) -> Result<Row, StoreError> {
        let row = self.fetch_optional(statement).await?;
        row.ok_or(StoreError::Damaged("a required row is missing"))
    }

    /// A connection for several reads. It is closed unless it is given back.
    pub(crate) async fn take(&self) -> Result<Reader, StoreError> {
        let turn = self.turn().await.ok_or(StoreError::Stopped)?;
        let permit = Arc::clone(&self.0.permits).acquire_owned().await.map_err(|_| StoreError::Stopped)?;
        let warm = self.lock().pop();
        let connection = match warm {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        Ok(Reader { readers: self.clone(), connection, _permit: permit, _turn: turn })
    }

    /// Waits for the caller's turn. `None` only while the process ends.
    async fn turn(&self) -> Option<Turn> {
        let reads = ReadsFor::current();
        let (account, unknown) = match reads {
            ReadsFor::Service => return Some(Turn::default()),
            ReadsFor::Account(account) => (Some(account), None),
            ReadsFor::Network(_) | ReadsFor::Unknown => (None, Some(self.0.unknown.take(reads).await?)),
        };
        Some(Turn { _account: Some(self.0.turns.take(account).await?), _unknown: unknown })
    }

    /// Waits for current reads, refuses more, and closes connections.
    pub(crate) async fn close(&self) {
        let all = self.0.permits.acquire_many(self.0.count).await;
        self.0.permits.close();
        drop(all);
        let idle = std::mem::take(&mut *self.lock());
        for connection in idle {
            // No read is lost.
            let _ = connection.close().await;
        }
    }

    /// Why the database is unavailable: an open connection may still work when its password no longer does. After an outage it is tried
    /// again, by one caller at a time.
    pub(crate) async fn outage(&self) -> Option<&'static str> {
        let why = (*self.0.outage.lock().unwrap_or_else(PoisonError::into_inner))?;
        let Ok(_probing) = self.0.probing.try_acquire() else { return Some(why) };
        let why = match tokio::time::timeout(PROBE_MAX, self.probe()).await {
            Ok(probed) => probed.err().map(|error| error.outage().unwrap_or(why)),
            Err(_) => Some(why),
        };
        self.note(why);
        why
    }

    /// On a connection beyond the pool's limit.
    async fn probe(&self) -> Result<(), StoreError> {
        let mut connection = self.0.database.connect_reader().await?;
        connection.fetch(FIND_SORT_KEY_SECRET.unbound()).await?;
        connection.close().await
    }

    fn connect(&self) -> impl Future<Output = Result<Connection, StoreError>> + Send {
        let made = self.0.database.connect_reader();
        made.inspect(|made| self.note(made.as_ref().err().and_then(StoreError::outage)))
    }

    fn note(&self, outage: Option<&'static str>) {
        *self.0.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// On a new connection if the old one is lost.
async fn read(
    mut reader: Reader,
    statement: Statement,
    _turn: Option<Permit>,
) -> Result<Vec<Row>, StoreError> {
    let rows = match reader.fetch(statement.clone()).await {
        Err(error) if error.is_connection_lost() => {
            reader.replace().await?;
            reader.fetch(statement).await?
        }
        rows => rows?,
    };
    reader.give_back();
    Ok(rows)
}

/// Work that is done even if its caller leaves.
struct ToItsEnd<T: 'static>(Option<BoxFuture<'static, T>>);

impl<T: 'static> ToItsEnd<T> {
    fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(work.boxed()))
    }
}

impl<T: 'static> Future for ToItsEnd<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<T> {
        let Some(work) = &mut self.0 else { return Poll::Pending };
        let done = ready!(work.poll_unpin(task));
        self.0 = None;
        Poll::Ready(done)
    }
}

impl<T: 'static> Drop for ToItsEnd<T> {
    fn drop(&mut self) {
        // Without a runtime the process ends.
        if let (Some(rest), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(rest.map(drop));
        }
    }
}

/// A caller's turn; nothing for the service's own reads.
#[derive(Default)]
struct Turn {
    _account: Option<Permit<Option<AccountKey>>>,
    _unknown: Option<Permit<ReadsFor>>,
}

pub(crate) struct Reader {
    readers: Readers,
    connection: Connection,
    // Released before the turn, so that its next holder finds a connection.
    _permit: OwnedSemaphorePermit,
    _turn: Turn,
}

impl Reader {
    /// Replaces a lost connection; others that were idle during the outage are of no use.
    pub(crate) async fn replace(&mut self) -> Result<(), StoreError> {
        self.connection = self.readers.connect().await?;
        self.readers.lock().clear();
        Ok(())
    }

    pub(crate) fn give_back(self) {
        let Self { readers, connection, _turn, _permit } = self;
        readers.lock().push(connection);
    }
}

impl Deref for Reader {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl DerefMut for Reader {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::database::sql;

    async fn readers() -> Readers {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let database = Database::file(&folder.join("test.db"), 4_096, false, Arc::default());
        database.connect().await.expect("a file");
        Readers::open(database, 2).await.expect("a connection")
    }

    #[tokio::test]
    async fn an_account_waits_for_one_read_of_another_however_many_it_asks_for() {
        const GREEDY: ReadsFor = ReadsFor::Account(AccountKey(1));
        let readers = readers().await;
        let wait = |reads: ReadsFor| {
            let mut reader = reads.scope(readers.take()).boxed_local();
            assert!(reader.as_mut().now_or_never().is_none());
            reader
        };
        let first = GREEDY.scope(readers.take()).await.expect("a reader");
        let second = GREEDY.scope(readers.take()).await.expect("a reader");
        let mut greedy: Vec<_> = (0..30).map(|_| wait(GREEDY)).collect();
        let others = [ReadsFor::Account(AccountKey(2)), ReadsFor::Network([192, 0, 2, 1].into())];
        let others = others.map(wait);
        first.give_back();
        let mut next = greedy.remove(0).now_or_never().expect("it came first").expect("a reader");
        for other in others {
            next.give_back();
            next = other.now_or_never().expect("its turn comes next").expect("a reader");
        }
        let service = wait(ReadsFor::Service);
        next.give_back();
        let service = service.now_or_never().expect("it comes before all turns").expect("a reader");
        service.give_back();
        second.give_back();
        let greedy: Vec<_> = greedy.into_iter().filter_map(FutureExt::now_or_never).collect();
        assert_eq!(greedy.len(), 2);
    }

    #[tokio::test]
    async fn an_account_waits_for_one_read_of_unknown_callers_however_many_addresses_they_have() {
        let readers = readers().await;
        let wait = |reads: ReadsFor| {
            let mut reader = reads.scope(readers.take()).boxed_local();
            assert!(reader.as_mut().now_or_never().is_none());
            reader
        };
        let held = ReadsFor::Account(AccountKey(1)).scope(readers.take()).await.expect("a reader");
        let networks: Vec<_> = (1..=30).map(|last| ReadsFor::Network([192, 0, 2, last].into())).collect();
        let first = networks[0].scope(readers.take()).await.expect("a reader");
        let mut others: Vec<_> = networks[1..].iter().map(|network| wait(*network)).collect();
        let account = wait(ReadsFor::Account(AccountKey(2)));
        first.give_back();
        assert!(others.iter_mut().all(|other| other.now_or_never().is_none()));
        account.now_or_never().expect("its turn comes next").expect("a reader").give_back();
        let second = others.remove(0).now_or_never().expect("it is the next address").expect("a reader");
        assert!(others.iter_mut().all(|other| other.now_or_never().is_none()));
        second.give_back();
        held.give_back();
    }

    #[tokio::test]
    async fn a_reader_is_lent_again_and_an_abandoned_one_never() {
        let readers = readers().await;
        assert!(readers.fetch_one(sql("SELECT 1")).await.is_ok());
        assert_eq!(readers.lock().len(), 1);
        drop(readers.take().await.expect("a reader"));
        assert_eq!(readers.lock().len(), 0);
        assert!(readers.fetch_one(sql("SELECT 1")).await.is_ok());
        assert_eq!(readers.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_read_whose_caller_left_goes_on_in_its_turn_and_its_reader_is_lent_again() {
        const COUNT: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000) SELECT count(i) FROM n";
        let (readers, turns) = (readers().await, Turns::over(1));
        let turn = turns.take(AccountKey(1)).await.expect("a turn");
        assert!(readers.fetch_in_turn(sql(COUNT), turn).now_or_never().is_none(), "it takes a while");
        assert_eq!(readers.lock().len(), 0);
        drop(turns.take(AccountKey(1)).await.expect("the turn of the read"));
        assert_eq!(readers.lock().len(), 1);
    }

    #[tokio::test]
    async fn closing_waits_for_the_read_under_way_and_refuses_the_next() {
        let readers = readers().await;
        let reader = readers.take().await.expect("a reader");
        let (_, after) = tokio::join!(readers.close(), async {
            reader.give_back();
            readers.fetch_one(sql("SELECT 1")).await
        });
        assert!(matches!(after, Err(StoreError::Stopped)));
        assert_eq!(readers.lock().len(), 0);
    }
}
