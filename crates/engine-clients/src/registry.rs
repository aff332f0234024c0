//! The clients of the configured engines, which may change while the service runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_base::supervision::Supervisor;
use overnight_config::{Config, EngineConfig};
use tokio::sync::Mutex as AsyncMutex;

use super::EngineUnusable;
use super::client::EngineClient;
use super::discovery::{Discovered, Lookup, Seen, system_lookup};
use super::keys::Keys;
use super::opening::{Opening, own_program};

/// The clients of every configured engine, and of removed ones that still have work. If dropped, they end what they started.
pub struct Engines {
    opening: Opening,
    lookup: Lookup,
    /// Held while keys are read, names resolved and clients replaced, so that the last settings win.
    declared: AsyncMutex<Declared>,
    clients: Mutex<Clients>,
}

/// The configured engines, the keys that were read with them, and the addresses of those that DNS names.
struct Declared {
    configs: Vec<EngineConfig>,
    keys: Arc<Keys>,
    discovered: Discovered,
}

#[derive(Default)]
struct Clients {
    current: Vec<Arc<EngineClient>>,
    /// Replaced or removed, and not yet released.
    retired: Vec<Arc<EngineClient>>,
    /// The addresses of clients that were replaced or released.
    left: Seen,
}

impl Engines {
    /// Creates a client for each engine and starts the embedded ones, without waiting for answers. Reads keys from the environment and from
    /// files, on this thread, and may write the built-in model into the data folder. Fails if an engine is permanently unusable. Panics
    /// outside a tokio runtime.
    pub fn start(config: &Config, clock: &SharedClock, ids: &Arc<Ids>) -> Result<Self, EngineUnusable> {
        Self::start_with_guard(&own_program(), config, clock, ids)
    }

    /// As [`Self::start`], with a supervisor that owns the loops that watch processes.
    pub fn start_supervised(
        config: &Config,
        clock: &SharedClock,
        ids: &Arc<Ids>,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, EngineUnusable> {
        Self::start_all(&own_program(), config, clock, ids, supervisor)
    }

    /// As [`Self::start`], in another program than overnight, which is at `guard` and guards the commands of engines.
    pub fn start_with_guard(
        guard: &Path,
        config: &Config,
        clock: &SharedClock,
        ids: &Arc<Ids>,
    ) -> Result<Self, EngineUnusable> {
        Self::start_all(guard, config, clock, ids, &Arc::default())
    }

    fn start_all(
        guard: &Path,
        config: &Config,
        clock: &SharedClock,
        ids: &Arc<Ids>,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, EngineUnusable> {
        let (guard, data_dir): (PathBuf, PathBuf) = (guard.to_owned(), config.data_dir.clone());
        let supervisor = Arc::clone(supervisor);
        let opening = Opening { guard, data_dir, clock: Arc::clone(clock), ids: Arc::clone(ids), supervisor };
        let (configs, keys) = (config.engines.clone(), Arc::new(Keys::read_now(&config.engines)?));
        let discovered = Discovered::default();
        let declared = Declared { configs, keys: Arc::clone(&keys), discovered: discovered.clone() };
        let (lookup, clients) = (system_lookup(), Mutex::default());
        let engines = Self { opening, lookup, declared: AsyncMutex::new(declared), clients };
        engines.replace(&discovered.expand(&config.engines), &keys)?;
        Ok(engines)
    }

    /// With another resolver.
    #[must_use]
    pub fn with_lookup(self, lookup: Lookup) -> Self {
        Self { lookup, ..self }
    }

    /// Replaces the engines, including those that DNS names. Keys are read again. Returns whether any changed. After a failure, because of
    /// a permanently unusable engine, all engines are as before.
    pub async fn configure(&self, configs: &[EngineConfig]) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        let keys = Arc::new(Keys::read(configs, &self.opening.clock).await?);
        self.declare(&mut declared, configs.to_vec(), keys).await
    }

    /// Resolves DNS names again. Keys stay as they were read with the settings. Returns whether any engine changed.
    pub async fn look_up_again(&self) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        if !declared.configs.iter().any(EngineConfig::is_discovered) {
            return Ok(false);
        }
        let (configs, keys) = (declared.configs.clone(), Arc::clone(&declared.keys));
        self.declare(&mut declared, configs, keys).await
    }

    /// Why no address is known of an engine that DNS names.
    pub async fn lookup_failure(&self, engine: &str) -> Option<String> {
        self.declared.lock().await.discovered.failure(engine)
    }

    async fn declare(
        &self,
        declared: &mut Declared,
        configs: Vec<EngineConfig>,
        keys: Arc<Keys>,
    ) -> Result<bool, EngineUnusable> {
        let discovered = declared.discovered.look_up(&configs, &self.lookup, &self.opening.clock).await;
        let are_others = self.replace(&discovered.expand(&configs), &keys)?;
        discovered.tell_changes_since(&declared.discovered);
        *declared = Declared { configs, keys, discovered };
        Ok(are_others)
    }

    /// Replaces the engines. Those with unchanged settings and keys keep their clients; an unchanged process continues under new clients.
    /// Replaced clients are kept until they are released.
    fn replace(&self, configs: &[EngineConfig], keys: &Keys) -> Result<bool, EngineUnusable> {
        let mut clients = self.lock();
        let named = |config: &EngineConfig| clients.current.iter().find(|it| it.config().name == config.name);
        let made: Vec<_> = configs
            .iter()
            .map(|config| self.opening.client(config, keys, named(config)))
            .collect::<Result<_, _>>()?;
        let is_kept = |client: &Arc<EngineClient>| made.iter().any(|it| Arc::ptr_eq(it, client));
        let replaced: Vec<_> = clients.current.iter().filter(|it| !is_kept(it)).cloned().collect();
        let are_others = !replaced.is_empty() || made.len() != clients.current.len();
        // A replaced client is needed only by its requests in flight, which hold it.
        let has_successor = |client: &Arc<EngineClient>| {
            made.iter().any(|it| it.config().name == client.config().name && it.succeeds(client))
        };
        let now = self.opening.clock.now();
        let left: Vec<_> = replaced.iter().filter(|client| !has_successor(client)).cloned().collect();
        clients.left.note(replaced.iter().filter_map(|client| client.address()), now);
        clients.retired.extend(left);
        clients.current = made;
        Ok(are_others)
    }

    /// Forgets a replaced client without work, after ending what it started, unless another client continues it.
    pub async fn release(&self, client: Arc<EngineClient>) {
        let is_shared = self.lock().current.iter().any(|it| it.shares_process(&client));
        if !is_shared {
            stop(&client).await;
        }
        let mut clients = self.lock();
        clients.retired.retain(|it| !Arc::ptr_eq(it, &client));
        clients.left.note(client.address(), self.opening.clock.now());
    }

    /// Ends the processes of all engines that the service started by commands, concurrently, and waits until nothing is left, or for at
    /// most twice the longest `stop_timeout` and 45 s. Remaining processes are logged.
    pub async fn stop(&self) {
        let clients: Vec<_> = {
            let clients = self.lock();
            clients.current.iter().chain(&clients.retired).cloned().collect()
        };
        join_all(clients.iter().map(|client| stop(client))).await;
    }

    /// In the order of the settings.
    pub fn list(&self) -> Vec<Arc<EngineClient>> {
        self.lock().current.clone()
    }

    /// The known addresses of engines and replicas. A replica stays known for some minutes after it has left.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let (clients, now) = (self.lock(), self.opening.clock.now());
        let used = clients.current.iter().chain(&clients.retired).filter_map(|client| client.address());
        used.chain(clients.left.known(now)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn stop(client: &EngineClient) {
    if let Err(reason) = client.stop_process().await {
        let engine = &client.config().name;
        tracing::error!(target: "engine", engine, "the engine was not stopped: {reason}");
    }
}
