//! The clients of the engines that the settings name, which may change while the service runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_base::supervision::Supervisor;
use tokio::sync::Mutex as AsyncMutex;

use super::EngineUnusable;
use super::client::EngineClient;
use super::discovery::{Discovered, Lookup, system_lookup};
use super::embedded::EmbeddedState;
use super::keys::Keys;
use super::opening::{Opening, own_program};
use crate::config::{Config, EngineConfig};

/// The clients of every configured engine, and of those that were configured and still have work. Dropped, they end what they started.
pub struct Engines {
    opening: Opening,
    lookup: Lookup,
    /// Held while keys are read and names looked up and clients replaced, so that the last settings win.
    declared: AsyncMutex<Declared>,
    clients: Mutex<Clients>,
}

/// The engines as the settings name them, their keys as they were read with these, and the addresses of those that DNS names.
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
}

impl Engines {
    /// Makes a client of each engine and starts the embedded ones; none of them needs to answer yet. Reads keys from the
    /// process's environment and from files, on this thread, and may write the model in the box into the data folder.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: &Config, clock: &SharedClock, ids: &Arc<Ids>) -> Result<Self, EngineUnusable> {
        Self::start_with_guard(&own_program(), config, clock, ids)
    }

    /// The same in a service, whose supervisor owns the loops that watch processes.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start_supervised(
        config: &Config,
        clock: &SharedClock,
        ids: &Arc<Ids>,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, EngineUnusable> {
        Self::start_all(&own_program(), config, clock, ids, supervisor)
    }

    /// The same in a process that is not the program overnight, which stands at `guard` and is called to guard the commands of engines.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
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

    /// The same, with another resolver of names.
    #[must_use]
    pub fn with_lookup(self, lookup: Lookup) -> Self {
        Self { lookup, ..self }
    }

    /// From now on the engines are these, and those that DNS names for them. Keys are read again. Returns whether any is another than
    /// before.
    ///
    /// # Errors
    /// An engine that no waiting will bring up. Then all engines are as before.
    pub async fn configure(&self, configs: &[EngineConfig]) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        let keys = Arc::new(Keys::read(configs, &self.opening.clock).await?);
        self.declare(&mut declared, configs.to_vec(), keys).await
    }

    /// Looks up again what DNS names. Keys stay as they were read with the settings. Returns whether any engine is another than before.
    pub async fn look_up_again(&self) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        if !declared.configs.iter().any(EngineConfig::is_discovered) {
            return Ok(false);
        }
        let (configs, keys) = (declared.configs.clone(), Arc::clone(&declared.keys));
        self.declare(&mut declared, configs, keys).await
    }

    /// Why no address is known of an engine that DNS names, where that is so.
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

    /// From now on the engines are these. Those whose settings and key are as before keep their client, and a process whose own
    /// settings are goes on under the others. The clients that are replaced are kept until they are released.
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
        // One whose place another takes is needed by what it has in flight alone, which holds it.
        let has_successor = |client: &Arc<EngineClient>| {
            made.iter().any(|it| it.config().name == client.config().name && it.succeeds(client))
        };
        clients.retired.extend(replaced.into_iter().filter(|client| !has_successor(client)));
        clients.current = made;
        Ok(are_others)
    }

    /// Forgets a client that was replaced and has no work any more, after ending what it started, where no other client goes on with it.
    pub async fn release(&self, client: Arc<EngineClient>) {
        let is_shared = self.lock().current.iter().any(|it| it.shares_process(&client));
        if !is_shared {
            stop(&client).await;
        }
        self.lock().retired.retain(|it| !Arc::ptr_eq(it, &client));
    }

    /// Ends the processes of all engines that the service started by commands, at the same time, and waits until nothing of them is
    /// left, or no more can be done: at most twice the longest `stop_timeout` and 45 s. What is left is logged.
    pub async fn stop(&self) {
        let clients: Vec<_> = {
            let clients = self.lock();
            clients.current.iter().chain(&clients.retired).cloned().collect()
        };
        join_all(clients.iter().map(|client| stop(client))).await;
    }

    /// Those that the settings name, in their order.
    pub fn list(&self) -> Vec<Arc<EngineClient>> {
        self.lock().current.clone()
    }

    /// Where the embedded engines that are ready listen.
    pub fn listening(&self) -> Vec<SocketAddr> {
        let clients = self.lock();
        let address = |client: &Arc<EngineClient>| match &*client.embedded_state()?.borrow() {
            EmbeddedState::Ready(endpoint) => endpoint.address(),
            EmbeddedState::Starting | EmbeddedState::Downloading { .. } | EmbeddedState::Down { .. } => None,
        };
        clients.current.iter().chain(&clients.retired).filter_map(address).collect()
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
