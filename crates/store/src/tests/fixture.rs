//! A store of its own for each test, and what tests do to it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use overnight_base::clock::{ManualClock, SharedClock, SystemClock};
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{AccountId, BatchId, IdSequence, RequestId};
use overnight_domain::money::Pricing;
use overnight_domain::records::{BatchRecord, ClientFields};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, Lease, ModelKey, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_testkit::postgres::{Cluster, FaultProxy, Pooler};
use overnight_testkit::schema::put_file;
use tempfile::TempDir;

use crate::identity::accounts::{self, NewAccount};
use crate::ledger::holds::Hold;
use crate::ledger::price_points;
use crate::operations::audit;
use crate::queue::settle::{self, Ending, Settlement};
use crate::queue::{self, leases, queue_scan, releases};
use crate::requests::{self, NewRequest, models};
use crate::{DATABASE_FILE, Durability, Store, StoreOptions, batches, schema};

pub(crate) const START: i64 = 1_750_000_000_000;
pub(super) const DAY_MS: i64 = 86_400_000;

/// With one account and one model.
pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) account: AccountKey,
    pub(crate) model: ModelKey,
    pub(crate) ids: IdSequence,
    pub(crate) options: StoreOptions,
    pub(crate) _folder: TempDir,
}

impl Fixture {
    pub(crate) async fn on_sqlite() -> Self {
        Self::on_sqlite_with(|options| options).await
    }

    pub(crate) async fn on_sqlite_with(own: impl FnOnce(StoreOptions) -> StoreOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let migrate = async |folder| migrate(StoreOptions::new(folder)).await;
        put_file(folder.path(), DATABASE_FILE, migrate).expect("a copy");
        Self::begin(own(options(&folder)), folder).await
    }

    pub(crate) async fn on_postgres() -> Self {
        Self::on_server(|_, url| url).await
    }

    /// Through a pooler.
    pub(crate) async fn pooled(pooler: &Pooler) -> Self {
        Self::on_server(|name, _| pooler.url(name)).await
    }

    /// Through a proxy that may inject faults.
    pub(crate) async fn through(proxy: &FaultProxy) -> Self {
        Self::on_server(|name, _| proxy.url(name)).await
    }

    pub(crate) async fn on_server(url: impl FnOnce(&str, String) -> String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().expect("a folder");
        let migrate = async |url| migrate(StoreOptions { server_url: Some(url), ..options(&folder) }).await;
        let server_url = Cluster::shared().database_with_schema(&name, migrate).expect("a database");
        let server_url = Some(url(&name, server_url));
        Self::begin(StoreOptions { server_url, ..options(&folder) }, folder).await
    }

    async fn begin(options: StoreOptions, folder: TempDir) -> Self {
        let store = open(&options).await;
        let account = accounts::insert(&store, &new_account(7)).await.expect("an account");
        let model = models::ensure(&store, &["tiny"]).await.expect("a model")[0];
        Self { store, account: account.key, model, ids: IdSequence::default(), options, _folder: folder }
    }

    /// As if the process ended; starts again after its leases have run out.
    pub(crate) async fn restart(&mut self) {
        self.store.close().await;
        self.store = open(&self.options).await;
        crate::nodes::reclaim_stale(&self.store, START, 0).await.expect("a look for the dead");
    }

    /// Another node on the same database, with its own folder.
    pub(crate) async fn node(&self) -> (Store, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions { server_url: self.options.server_url.clone(), ..options(&folder) };
        (open(&options).await, folder)
    }

    pub(crate) async fn with_node() -> (Self, Store, TempDir) {
        let fixture = Self::on_postgres().await;
        let (other, folder) = fixture.node().await;
        (fixture, other, folder)
    }

    pub(crate) fn partition(&self) -> QueuePartition {
        QueuePartition { model: self.model, account: self.account }
    }

    pub(crate) fn request(&mut self, key: u8) -> NewRequest {
        NewRequest {
            id: self.ids.next(START, u128::from(key)),
            account: self.account,
            model: self.model,
            alias: None,
            created_at: START,
            expires_at: START + DAY_MS,
            ready_at: START,
            sort_key: SortKey::from_bytes(&[key]),
            cost: 10,
            hold: None,
            max_tokens: None,
            fifo_hit_permille: None,
            trace: None,
            api_key: None,
            endpoint: Endpoint::ChatCompletions,
            batch: None,
            client: ClientFields::absent(),
            body: format!(r#"{{"model":"tiny","messages":[{{"role":"user","content":"{key}"}}]}}"#)
                .into_bytes()
                .into(),
        }
    }

    /// At a price of one credit per token read, and two per token written.
    pub(crate) async fn hold(&self, amount: &str) -> Option<Hold> {
        let per_million = |text: &str| text.parse().expect("credits");
        let pricing = Pricing { input: per_million("1000000"), output: per_million("2000000") };
        let price = price_points::ensure(&self.store, pricing).await.expect("a price");
        Some(Hold { amount: amount.parse().expect("credits"), price })
    }

    pub(crate) fn batch_id(&mut self) -> BatchId {
        self.ids.next(START, 1)
    }

    pub(crate) async fn put(&self, request: NewRequest) -> RequestId {
        let id = request.id;
        requests::insert(&self.store, request).await.expect("an insert");
        id
    }

    /// One request per key.
    pub(crate) async fn insert(&mut self, keys: &[u8]) -> Vec<RequestId> {
        let mut ids = Vec::new();
        for &key in keys {
            let request = self.request(key);
            ids.push(self.put(request).await);
        }
        ids
    }

    /// One request per key; leases all that gather or wait.
    pub(crate) async fn leased(&mut self, keys: &[u8]) -> (Vec<RequestId>, Vec<Lease>) {
        (self.insert(keys).await, self.release_and_lease().await)
    }

    pub(crate) async fn leased_one(&mut self, key: u8) -> (RequestId, Lease) {
        let (ids, mut leases) = self.leased(&[key]).await;
        (ids[0], leases.remove(0))
    }

    /// Concurrently, as many as an account may.
    pub(crate) async fn insert_all(&self, requests: impl IntoIterator<Item = NewRequest>) {
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let inserts = requests.by_ref().take(1_000).map(|request| requests::insert(&self.store, request));
            assert!(futures_util::future::join_all(inserts).await.iter().all(Result::is_ok));
        }
    }

    pub(crate) async fn release(&self) {
        releases::release(&self.store, START, 1_000).await.expect("a release");
    }

    /// Waiting requests in order, outside any sweep.
    pub(crate) async fn look(&self) -> Vec<Position> {
        let scan = queue_scan::scan_range(self.partition(), queue::KeyRange::default(), 1_000, START);
        let rows = self.store.readers().fetch_all(scan).await.expect("a scan");
        rows.iter().map(|row| queue_scan::read_position(row).expect("a position")).collect()
    }

    pub(crate) async fn lease(&self) -> Vec<Lease> {
        let positions = self.look().await;
        leases::take(&self.store, self.partition(), positions, START + 1).await.expect("a lease").leases
    }

    /// Leases all requests that gather or wait.
    pub(crate) async fn release_and_lease(&self) -> Vec<Lease> {
        self.release().await;
        self.lease().await
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.options.folder
    }

    pub(crate) async fn settle(&self, lease: &Lease, now: i64) -> bool {
        settle::settle(&self.store, self.settlement(lease, now)).await.expect("a settle")
    }

    pub(crate) fn settlement(&self, lease: &Lease, now: i64) -> Settlement {
        Settlement {
            lease: lease.clone(),
            ending: Ending::Completed { prompt_tokens: 3, completion_tokens: 4 },
            body: Bytes::from_static(br#"{"object":"chat.completion"}"#),
            warnings: None,
            now,
            attempt: None,
            engine: Some("gpu-0".into()),
        }
    }

    pub(crate) async fn status(&self, id: RequestId) -> RequestStatus {
        let found = requests::find_summary(&self.store, self.account, id).await.expect("a read");
        found.expect("the request").0.state.status()
    }

    pub(crate) async fn breaches(&self) -> Vec<audit::Check> {
        let checks = audit::run(&self.store).await.expect("an audit");
        checks.into_iter().filter(|check| check.breaches > 0).collect()
    }

    pub(crate) async fn assert_sound(&self) {
        let breaches = self.breaches().await;
        assert!(breaches.is_empty(), "{breaches:#?}");
    }

    /// The audit finds each damage, and none after its repair.
    pub(crate) async fn assert_found(&self, damages: &[(&'static str, &'static str)]) {
        self.assert_sound().await;
        for (damage, repair) in damages {
            self.execute(*damage).await;
            assert!(!self.breaches().await.is_empty(), "{damage}");
            self.execute(*repair).await;
            self.assert_sound().await;
        }
    }

    /// On a connection of its own.
    pub(crate) async fn execute(&self, statements: impl Into<String>) {
        let mut connection = self.store.connect().await.expect("a connection");
        let statements: &'static str = statements.into().leak();
        connection.execute_all(statements).await.unwrap_or_else(|error| panic!("{statements}: {error}"));
        connection.close().await.expect("an end");
    }

    pub(crate) async fn other_account(&self) -> AccountKey {
        accounts::insert(&self.store, &new_account(8)).await.expect("an account").key
    }

    /// With its row number.
    pub(crate) async fn batch(&self, id: BatchId) -> (i64, BatchRecord) {
        batches::find(&self.store, self.account, id).await.expect("a read").expect("the batch")
    }
}

/// Given to tests on both databases.
pub(super) trait Stage {
    async fn over(fixture: Fixture) -> Self;
    fn fixture(&self) -> &Fixture;
}

impl Stage for Fixture {
    async fn over(fixture: Fixture) -> Self {
        fixture
    }

    fn fixture(&self) -> &Fixture {
        self
    }
}

pub(super) async fn run<S: Stage>(fixture: Fixture, test: impl AsyncFnOnce(&mut S), is_audited: bool) {
    let mut stage = S::over(fixture).await;
    test(&mut stage).await;
    if is_audited {
        stage.fixture().assert_sound().await;
    }
}

pub(super) async fn walk<C, P>(mut page: impl AsyncFnMut(Option<C>) -> (P, Option<C>)) -> Vec<P> {
    let (mut pages, mut next) = (Vec::new(), None);
    loop {
        let (page, behind) = page(next).await;
        pages.push(page);
        if behind.is_none() {
            return pages;
        }
        next = behind;
    }
}

/// With activated payments and a hundred credits.
pub(super) fn new_account(number: u128) -> NewAccount {
    NewAccount {
        id: AccountId::from_bits(number),
        name: format!("account {number}"),
        created_at: START,
        is_activated: true,
        credits: "100".parse().expect("credits"),
        webhook_secret: SigningSecret::new([7; 32]),
    }
}

pub(crate) fn options(folder: &TempDir) -> StoreOptions {
    // The size of this machine's disk must not matter.
    let disk_reserve = Some(0);
    StoreOptions { durability: Durability::ProcessOnly, disk_reserve, ..StoreOptions::new(folder.path()) }
}

async fn migrate(options: StoreOptions) {
    schema::bring_up_to_date(&options).await.expect("a schema");
}

/// A server that is away is asked again after a while that passes; the file is never away.
pub(super) async fn open(options: &StoreOptions) -> Store {
    let clock: SharedClock = match options.server_url {
        Some(_) => Arc::new(SystemClock),
        None => ManualClock::at(START),
    };
    Store::open(options, clock).await.expect("a store")
}
