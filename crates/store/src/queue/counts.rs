//! How much waits and runs. It is counted, because a row that every change updates would make all changes wait. It is counted in parts,
//! because SQLite's log cannot begin anew during a read: a request that arrives or ends between two parts may be counted or not.

use overnight_domain::forecast::AccountQueue;
use overnight_domain::scheduler::{AccountKey, ModelKey, QueuePartition};

use crate::database::{Row, Statement, statements};
use crate::queue::queue_scan::LAST_KEY;
use crate::{Store, StoreError};

/// Requests in a part, which takes some 10 ms. Tests read several parts.
pub(super) const PART_ROWS: i64 = if cfg!(test) { 2 } else { 16_384 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccountCount {
    pub queue: AccountQueue,
    /// Requests that were leased at some time.
    pub begun: i64,
    /// The earliest, in milliseconds.
    pub next_deadline: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Live {
    /// Gathering or waiting, and never leased.
    pub waiting: i64,
    /// Leased, and not ended.
    pub in_progress: i64,
    /// In milliseconds.
    pub oldest_deadline: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gathering {
    pub count: i64,
    /// The earliest, in milliseconds.
    pub next_deadline: Option<i64>,
}

statements! {
    /// The end of the next part.
    EDGE = "SELECT account, sort_key, seq FROM queue
        WHERE model = ? AND (account, sort_key, seq) > (?, ?, ?) AND (account, sort_key, seq) <= (?, ?, ?)
        ORDER BY account, sort_key, seq LIMIT 1 OFFSET ?";
    COUNT = "SELECT account, sum(CASE WHEN phase = 0 /* waiting */ THEN 1 ELSE 0 END) AS waiting,
            CAST(sum(CASE WHEN phase = 0 /* waiting */ THEN cost ELSE 0 END) AS BIGINT) AS waiting_cost,
            sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE 1 END) AS leased,
            CAST(sum(CASE WHEN phase = 0 /* waiting */ THEN 0 ELSE cost END) AS BIGINT) AS leased_cost,
            count(in_progress_at) AS begun, min(deadline) AS next_deadline
        FROM queue WHERE model = ? AND (account, sort_key, seq) > (?, ?, ?) AND (account, sort_key, seq) <= (?, ?, ?)
        GROUP BY account ORDER BY account";
    LIST_MODELS = "SELECT seq FROM models ORDER BY seq";
    GATHERING_OF_ACCOUNT = {
        sqlite: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE account = ? AND state = 0 /* gathering */",
        postgres: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE account + 0 = ? AND state = 0 /* gathering */ AND ready_at IS NOT NULL",
    };
    GATHERING = {
        sqlite: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */",
        postgres: "SELECT count(*) AS count, min(deadline) AS next_deadline FROM request_states
            WHERE state = 0 /* gathering */ AND ready_at IS NOT NULL",
    };
}

/// The queue of a model, by account.
pub async fn of_model(store: &Store, model: ModelKey) -> Result<Vec<AccountCount>, StoreError> {
    count(Parts::of_model(store, model)).await
}

/// Requests of all accounts that wait for a model.
pub async fn waiting(store: &Store, model: ModelKey) -> Result<i64, StoreError> {
    Ok(of_model(store, model).await?.iter().map(|account| account.queue.waiting).sum())
}

/// Of an account, for every model ever configured.
pub async fn of_account(store: &Store, account: AccountKey) -> Result<Live, StoreError> {
    let models = store.readers().fetch_all(LIST_MODELS.unbound()).await?;
    // Gathering first: a request released meanwhile is counted twice rather than never.
    let gathering = GATHERING_OF_ACCOUNT.bind(account);
    let gathering = read_gathering(&store.long_readers(account).fetch_one(gathering).await?)?;
    let mut live =
        Live { waiting: gathering.count, in_progress: 0, oldest_deadline: gathering.next_deadline };
    for model in &models {
        let partition = QueuePartition { model: model.get("seq")?, account };
        for found in count(Parts::for_account(store, partition)).await? {
            live.waiting += found.queue.waiting + found.queue.leased - found.begun;
            live.in_progress += found.begun;
            let known = live.oldest_deadline.unwrap_or(i64::MAX);
            live.oldest_deadline = Some(known.min(found.next_deadline));
        }
    }
    Ok(live)
}

/// Gathering requests, which are in no queue yet.
pub async fn gathering(store: &Store) -> Result<Gathering, StoreError> {
    read_gathering(&store.readers().fetch_one(GATHERING.unbound()).await?)
}

async fn count(mut parts: Parts<'_>) -> Result<Vec<AccountCount>, StoreError> {
    let mut counts: Vec<AccountCount> = Vec::new();
    while let Some(rows) = parts.next(COUNT.unbound()).await? {
        for row in &rows {
            let more = read_count(row)?;
            match counts.last_mut().filter(|last| last.queue.account == more.queue.account) {
                Some(last) => last.add(&more),
                None => counts.push(more),
            }
        }
    }
    Ok(counts)
}

/// The last account, key and number of a part.
#[derive(Debug, Clone)]
struct Edge(i64, Vec<u8>, i64);

/// Reads a model's queue part by part, in the order of accounts and keys.
pub(super) struct Parts<'s> {
    store: &'s Store,
    model: ModelKey,
    /// The account that reads, in its turns; `None`: the service.
    reader: Option<AccountKey>,
    /// `None` after the last part.
    after: Option<Edge>,
    last: Edge,
}

impl<'s> Parts<'s> {
    fn of_model(store: &'s Store, model: ModelKey) -> Self {
        Self::between(store, model, i64::MIN, i64::MAX)
    }

    /// One account's part of a queue.
    pub(super) fn of(store: &'s Store, partition: QueuePartition) -> Self {
        Self::between(store, partition.model, partition.account.0, partition.account.0)
    }

    /// The same, read for the account itself.
    pub(super) fn for_account(store: &'s Store, partition: QueuePartition) -> Self {
        Self { reader: Some(partition.account), ..Self::of(store, partition) }
    }

    fn between(store: &'s Store, model: ModelKey, first: i64, last: i64) -> Self {
        let after = Some(Edge(first, Vec::new(), i64::MIN));
        Self { store, model, reader: None, after, last: Edge(last, LAST_KEY.to_vec(), i64::MAX) }
    }

    /// The rows of a statement about the next part, whose last values are the model and two edges; `None` after the last part.
    pub(super) async fn next(&mut self, statement: Statement) -> Result<Option<Vec<Row>>, StoreError> {
        let Some(after) = self.after.take() else { return Ok(None) };
        let edge = bind(bind(EDGE.bind(self.model), &after), &self.last).bind(PART_ROWS - 1);
        let edge = self.fetch(edge).await?.first().map(read_edge).transpose()?;
        let until = edge.as_ref().unwrap_or(&self.last);
        let rows = self.fetch(bind(bind(statement.bind(self.model), &after), until)).await?;
        self.after = edge;
        Ok(Some(rows))
    }

    async fn fetch(&self, statement: Statement) -> Result<Vec<Row>, StoreError> {
        match self.reader {
            Some(account) => self.store.long_readers(account).fetch_all(statement).await,
            None => self.store.readers().fetch_all(statement).await,
        }
    }
}

fn bind(statement: Statement, Edge(account, sort_key, seq): &Edge) -> Statement {
    statement.bind(*account).bind(sort_key.clone()).bind(*seq)
}

impl AccountCount {
    fn add(&mut self, more: &Self) {
        self.queue.waiting += more.queue.waiting;
        self.queue.waiting_cost += more.queue.waiting_cost;
        self.queue.leased += more.queue.leased;
        self.queue.leased_cost += more.queue.leased_cost;
        self.begun += more.begun;
        self.next_deadline = self.next_deadline.min(more.next_deadline);
    }
}

fn read_edge(row: &Row) -> Result<Edge, StoreError> {
    Ok(Edge(row.get("account")?, row.get("sort_key")?, row.get("seq")?))
}

fn read_count(row: &Row) -> Result<AccountCount, StoreError> {
    let queue = AccountQueue {
        account: row.get("account")?,
        waiting: row.get("waiting")?,
        waiting_cost: row.get("waiting_cost")?,
        leased: row.get("leased")?,
        leased_cost: row.get("leased_cost")?,
    };
    Ok(AccountCount { queue, begun: row.get("begun")?, next_deadline: row.get("next_deadline")? })
}

fn read_gathering(row: &Row) -> Result<Gathering, StoreError> {
    Ok(Gathering { count: row.get("count")?, next_deadline: row.get("next_deadline")? })
}
