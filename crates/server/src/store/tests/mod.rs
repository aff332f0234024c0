//! Tests of the store on real databases, through its public functions: one suite, on SQLite and on PostgreSQL.

/// Declares a test of the store, which runs on both databases.
macro_rules! on_both {
    ($name:ident) => {
        mod $name {
            use crate::store::tests::Fixture;

            #[tokio::test]
            async fn on_sqlite() {
                super::$name(Fixture::on_sqlite().await).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                super::$name(Fixture::on_postgres().await).await;
            }
        }
    };
}

mod activity;
mod api_keys;
mod audit_log;
mod audit_log_bounds;
mod backups;
mod batch_deletion;
mod bounded_lists;
mod conflicts;
mod damage;
mod declared;
mod deliveries;
mod disk;
mod encryption;
mod ends;
mod engine_days;
mod engine_reports;
mod filling;
mod grouping;
mod idempotency_keys;
mod in_line;
mod installations;
mod leasing;
mod listing;
mod live_counts;
mod lives;
mod log_truncation;
mod low_credits;
mod money;
mod monthly_grants;
mod node_statuses;
mod nodes;
mod objects;
mod opening;
mod operator_views;
mod outages;
mod outlook;
mod paging;
mod places;
mod plans;
mod pooled;
mod postgres_urls;
mod quotas;
mod retention;
mod rights;
mod schemas;
mod segments;
mod spend_by_key;
mod spend_by_key_writes;
mod statements;
mod test_events;
mod transfer;
mod turns;
mod uploads;
mod usage;
mod users;
mod waits;
mod webhooks;
mod wholes;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::ids::{AccountId, BatchId, IdSequence, RequestId};
use overnight_domain::money::Pricing;
use overnight_domain::records::ClientFields;
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::{AccountKey, Lease, ModelKey, Position, QueuePartition};
use overnight_domain::sort_key::SortKey;
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_testkit::postgres::{Cluster, FaultProxy, Pooler};
use overnight_testkit::schema::put_file;
use tempfile::TempDir;

pub(super) use self::schemas::{Catalogue, catalogue};
use overnight_base::clock::{ManualClock, SharedClock, SystemClock};

use crate::store::identity::accounts;
use crate::store::identity::accounts::NewAccount;
use crate::store::ledger::holds::Hold;
use crate::store::ledger::price_points;
use crate::store::operations::audit;
use crate::store::queue;
use crate::store::queue::leases;
use crate::store::queue::queue_scan;
use crate::store::queue::releases;
use crate::store::queue::settle;
use crate::store::queue::settle::{Ending, Settlement};
use crate::store::requests::NewRequest;
use crate::store::requests::models;
use crate::store::{DATABASE_FILE, Durability, Store, StoreOptions, requests, schema};

pub(super) const START: i64 = 1_750_000_000_000;
pub(super) const DAY_MS: i64 = 86_400_000;

/// A store of its own, with one account and one model.
pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) account: AccountKey,
    pub(super) model: ModelKey,
    ids: IdSequence,
    options: StoreOptions,
    _folder: TempDir,
}

impl Fixture {
    pub(super) async fn on_sqlite() -> Self {
        Self::on_sqlite_with(|options| options).await
    }

    /// On SQLite, with options of its own.
    pub(super) async fn on_sqlite_with(own: impl FnOnce(StoreOptions) -> StoreOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let migrate = async |folder| migrate(StoreOptions::new(folder)).await;
        put_file(folder.path(), DATABASE_FILE, migrate).expect("a copy");
        Self::over(own(options(&folder)), folder).await
    }

    pub(super) async fn on_postgres() -> Self {
        Self::on_server(|_, url| url).await
    }

    /// On PostgreSQL, which it reaches through a pooler.
    pub(super) async fn pooled(pooler: &Pooler) -> Self {
        Self::on_server(|name, _| pooler.url(name)).await
    }

    /// On PostgreSQL, which it reaches through a proxy that may fail it.
    pub(super) async fn through(proxy: &FaultProxy) -> Self {
        Self::on_server(|name, _| proxy.url(name)).await
    }

    async fn on_server(url: impl FnOnce(&str, String) -> String) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = tempfile::tempdir().expect("a folder");
        let migrate = async |url| migrate(StoreOptions { server_url: Some(url), ..options(&folder) }).await;
        let server_url = Cluster::shared().database_with_schema(&name, migrate).expect("a database");
        let server_url = Some(url(&name, server_url));
        Self::over(StoreOptions { server_url, ..options(&folder) }, folder).await
    }

    async fn over(options: StoreOptions, folder: TempDir) -> Self {
        let store = open(&options).await;
        let account = accounts::insert(&store, &new_account(7)).await.expect("an account");
        let model = models::ensure(&store, &["tiny"]).await.expect("a model")[0];
        Self { store, account: account.key, model, ids: IdSequence::default(), options, _folder: folder }
    }

    /// Ends the process, so to speak, and starts it again when its leases have run out.
    pub(super) async fn restart(&mut self) {
        self.store.close().await;
        self.store = open(&self.options).await;
        crate::store::nodes::reclaim_stale(&self.store, START, 0).await.expect("a look for the dead");
    }

    /// Another node on the same database, with a folder of its own.
    pub(super) async fn node(&self) -> (Store, TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions { server_url: self.options.server_url.clone(), ..options(&folder) };
        (open(&options).await, folder)
    }

    pub(super) fn partition(&self) -> QueuePartition {
        QueuePartition { model: self.model, account: self.account }
    }

    pub(super) fn request(&mut self, key: u8) -> NewRequest {
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

    /// What a request is to hold where a credit is the price of each token read, and two of each written.
    pub(super) async fn hold(&self, amount: &str) -> Option<Hold> {
        let per_million = |text: &str| text.parse().expect("credits");
        let pricing = Pricing { input: per_million("1000000"), output: per_million("2000000") };
        let price = price_points::ensure(&self.store, pricing).await.expect("a price");
        Some(Hold { amount: amount.parse().expect("credits"), price })
    }

    pub(super) fn batch_id(&mut self) -> BatchId {
        self.ids.next(START, 1)
    }

    /// Takes in one request for each key.
    pub(super) async fn insert(&mut self, keys: &[u8]) -> Vec<RequestId> {
        let mut ids = Vec::new();
        for &key in keys {
            let request = self.request(key);
            ids.push(request.id);
            requests::insert(&self.store, request).await.expect("an insert");
        }
        ids
    }

    /// Takes these requests in, as many at once as one account may.
    pub(super) async fn insert_all(&self, requests: impl IntoIterator<Item = NewRequest>) {
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let inserts = requests.by_ref().take(1_000).map(|request| requests::insert(&self.store, request));
            assert!(futures_util::future::join_all(inserts).await.iter().all(Result::is_ok));
        }
    }

    pub(super) async fn release(&self) {
        releases::release(&self.store, START, 1_000).await.expect("a release");
    }

    /// What waits, in order, without a part in anybody's sweep.
    pub(super) async fn look(&self) -> Vec<Position> {
        let scan = queue_scan::scan_range(self.partition(), queue::KeyRange::default(), 1_000, START);
        let rows = self.store.readers().fetch_all(scan).await.expect("a scan");
        rows.iter().map(|row| queue_scan::read_position(row).expect("a position")).collect()
    }

    pub(super) async fn lease(&self) -> Vec<Lease> {
        let positions = self.look().await;
        leases::take(&self.store, self.partition(), positions, START + 1).await.expect("a lease").leases
    }

    pub(super) fn folder(&self) -> &Path {
        &self.options.folder
    }

    pub(super) async fn settle(&self, lease: &Lease, now: i64) -> bool {
        settle::settle(&self.store, self.settlement(lease, now)).await.expect("a settle")
    }

    pub(super) fn settlement(&self, lease: &Lease, now: i64) -> Settlement {
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

    pub(super) async fn status(&self, id: RequestId) -> RequestStatus {
        let found = requests::find_summary(&self.store, self.account, id).await.expect("a read");
        found.expect("the request").0.state.status()
    }

    pub(super) async fn assert_sound(&self) {
        let checks = audit::run(&self.store).await.expect("an audit");
        let breaches: Vec<_> = checks.into_iter().filter(|check| check.breaches > 0).collect();
        assert!(breaches.is_empty(), "{breaches:#?}");
    }
}

/// An account with activated payments and a hundred credits.
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

pub(super) fn options(folder: &TempDir) -> StoreOptions {
    // The disk of this machine decides nothing.
    let disk_reserve = Some(0);
    StoreOptions { durability: Durability::ProcessOnly, disk_reserve, ..StoreOptions::new(folder.path()) }
}

async fn migrate(options: StoreOptions) {
    schema::bring_up_to_date(&options).await.expect("a schema");
}

/// A server that is away is asked again after a while that passes; the file is never away.
async fn open(options: &StoreOptions) -> Store {
    let clock: SharedClock = match options.server_url {
        Some(_) => Arc::new(SystemClock),
        None => ManualClock::at(START),
    };
    Store::open(options, clock).await.expect("a store")
}
