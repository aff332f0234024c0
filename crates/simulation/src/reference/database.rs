//! A database and its nodes. The sequence drives each node's writer.

use overnight_domain::ids::AccountId;
use overnight_domain::money::{Credits, Pricing};
use overnight_domain::quotas::{Quota, Quotas};
use overnight_domain::scheduler::{AccountKey, ModelKey};
use overnight_domain::webhooks::signature::SigningSecret;
use overnight_store::identity::accounts::{self, NewAccount};
use overnight_store::ledger::price_points::{self, PriceKey};
use overnight_store::operations::audit;
use overnight_store::requests::models;
use overnight_store::{CrashPoint, Durability, ManualWriter, Store, StoreOptions};
use tempfile::TempDir;

use super::writes::{GRANT, LIVE_MAX, PRICES};
use crate::broken::{Broken, Step, ensure};
use crate::make_folder;

/// The start of the first sequence, in milliseconds.
const START: i64 = 1_750_000_000_000;
/// The names of a sequence are below this.
const NAMES_PER_SEQUENCE: u128 = 1 << 32;

pub enum Place {
    /// A folder for each database, with one node.
    Folder,
    /// A PostgreSQL server, with two nodes: the function creates an empty database and returns its URL.
    Server(Box<dyn Fn() -> String>),
}

/// A database that many sequences use in turn.
pub(super) struct Database {
    pub(super) nodes: Vec<Node>,
    /// Continues from one sequence to the next.
    pub(super) now: i64,
    pub(super) sequences: u32,
    pub(super) is_shared: bool,
    pub(super) models: [ModelKey; 2],
    pub(super) prices: [PriceKey; 2],
    lives: u64,
}

pub(super) struct Node {
    pub(super) store: Store,
    pub(super) writer: ManualWriter,
    /// The number of a process's life, never reused.
    pub(super) life: u64,
    options: StoreOptions,
    folder: TempDir,
}

impl Database {
    pub(super) async fn open(place: &Place) -> Step<Self> {
        let server_url = match place {
            Place::Folder => None,
            Place::Server(make) => Some(make()),
        };
        let is_shared = server_url.is_some();
        let mut nodes = Vec::new();
        for life in 0..1 + u64::from(is_shared) {
            let folder = make_folder()?;
            let options = StoreOptions {
                server_url: server_url.clone(),
                durability: Durability::ProcessOnly,
                readers: 2,
                quotas: Quotas::default().with(Quota::LiveRequests, Some(LIVE_MAX)),
                disk_reserve: Some(0),
                sort_key_secret: Some([7; 32]),
                ..StoreOptions::new(folder.path())
            };
            nodes.push(Node::start(options, folder, life, START).await?);
        }
        let store = &nodes[0].store;
        let keys = models::ensure(store, &["plain", "other"]).await?;
        let models = keys.try_into().map_err(|_| Broken("two models have two keys".to_owned()))?;
        let mut prices = [PriceKey(0); 2];
        for (price, (input, output)) in prices.iter_mut().zip(PRICES) {
            let [input, output] = [input, output].map(Credits::from_nanos);
            *price = price_points::ensure(store, Pricing { input, output }).await?;
        }
        let lives = nodes.len() as u64;
        Ok(Self { nodes, now: START, sequences: 0, is_shared, models, prices, lives })
    }

    /// The first name of a new sequence.
    pub(super) fn base(&self) -> u128 {
        NAMES_PER_SEQUENCE * u128::from(self.sequences)
    }

    pub(super) async fn make_accounts(&self) -> Step<[AccountKey; 2]> {
        let mut keys = [AccountKey(0); 2];
        for (number, key) in keys.iter_mut().enumerate() {
            let account = NewAccount {
                id: AccountId::from_bits(self.base() + number as u128),
                name: format!("account {number} of sequence {}", self.sequences),
                created_at: self.now,
                is_activated: true,
                credits: Credits::from_nanos(GRANT),
                webhook_secret: SigningSecret::new([7; 32]),
            };
            *key = accounts::insert(&self.nodes[0].store, &account).await?.key;
        }
        Ok(keys)
    }

    /// A process dies and is started again. Returns the number of its next life. On a server it has its own folder and row.
    pub(super) async fn restart(&mut self, node: usize, point: CrashPoint) -> Step<u64> {
        let Node { store, writer, options, folder, .. } = self.nodes.remove(node);
        writer.crash(point).await?;
        store.close().await;
        drop(store);
        let life = self.lives;
        self.lives += 1;
        self.nodes.insert(node, Node::start(options, folder, life, self.now).await?);
        Ok(life)
    }

    pub(super) async fn audit(&self) -> Step {
        for check in audit::run(&self.nodes[0].store).await? {
            ensure!(check.breaches == 0, "audit: {} rows break: {}", check.breaches, check.rule);
        }
        Ok(())
    }

    pub(super) async fn close(self) {
        for Node { store, writer, .. } in self.nodes {
            drop(writer);
            store.close().await;
        }
    }
}

impl Node {
    async fn start(options: StoreOptions, folder: TempDir, life: u64, now: i64) -> Step<Self> {
        let (store, writer) = Store::open_manual(&options, now).await?;
        Ok(Self { store, writer, life, options, folder })
    }
}
