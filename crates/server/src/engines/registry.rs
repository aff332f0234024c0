//! The clients of the engines that the settings name, which may change while the service runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::join_all;
use tokio::sync::Mutex as AsyncMutex;

use super::EngineUnusable;
use super::client::EngineClient;
use super::discovery::{Discovered, Lookup, system_lookup};
use super::embedded::EmbeddedState;
use super::opening::{Opening, own_program};
use crate::clock::SharedClock;
use crate::config::{Config, EngineConfig};
use crate::ids::Ids;

/// The clients of every configured engine, and of those that were configured and still have work. Dropped, they end what they started.
pub struct Engines {
    opening: Opening,
    lookup: Lookup,
    /// Held while they are looked up and replaced, so that the last settings win.
    declared: AsyncMutex<Declared>,
    clients: Mutex<Clients>,
}

/// The engines as the settings name them, and the addresses of those that DNS names.
struct Declared {
    configs: Vec<EngineConfig>,
    discovered: Discovered,
}

#[derive(Default)]
struct Clients {
    /// In the order of the settings.
    current: Vec<Arc<EngineClient>>,
    /// Replaced or removed, and not yet released.
    retired: Vec<Arc<EngineClient>>,
}

impl Engines {
    /// Makes a client of each engine and starts the embedded ones; none of them needs to answer yet. Reads keys from the
    /// process's environment and from files, and may write the model in the box into the data folder.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: &Config, clock: &SharedClock, ids: &Arc<Ids>) -> Result<Self, EngineUnusable> {
        Self::start_with_guard(&own_program(), config, clock, ids)
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
        let (guard, data_dir): (PathBuf, PathBuf) = (guard.to_owned(), config.data_dir.clone());
        let opening = Opening { guard, data_dir, clock: Arc::clone(clock), ids: Arc::clone(ids) };
        let declared = Declared { configs: config.engines.clone(), discovered: Discovered::default() };
        let (lookup, clients) = (system_lookup(), Mutex::default());
        let engines = Self { opening, lookup, declared: AsyncMutex::new(declared), clients };
        engines.replace(&Discovered::default().expand(&config.engines))?;
        Ok(engines)
    }

    /// The same, with another resolver of names.
    #[must_use]
    pub fn with_lookup(self, lookup: Lookup) -> Self {
        Self { lookup, ..self }
    }

    /// From now on the engines are these, and those that DNS names for them. Returns whether any is another than before.
    ///
    /// # Errors
    /// An engine that no waiting will bring up. Then all engines are as before.
    pub async fn configure(&self, configs: &[EngineConfig]) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        self.declare(&mut declared, configs.to_vec()).await
    }

    /// Looks up again what DNS names. Returns whether any engine is another than before.
    ///
    /// # Errors
    /// As [`Self::configure`].
    pub async fn look_up_again(&self) -> Result<bool, EngineUnusable> {
        let mut declared = self.declared.lock().await;
        if !declared.configs.iter().any(EngineConfig::is_discovered) {
            return Ok(false);
        }
        let configs = declared.configs.clone();
        self.declare(&mut declared, configs).await
    }

    /// Why no address is known of an engine that DNS names, where that is so.
    pub async fn lookup_failure(&self, engine: &str) -> Option<String> {
        self.declared.lock().await.discovered.failure(engine)
    }

    async fn declare(
        &self,
        declared: &mut Declared,
        configs: Vec<EngineConfig>,
    ) -> Result<bool, EngineUnusable> {
        let discovered = declared.discovered.look_up(&configs, &self.lookup, &self.opening.clock).await;
        let are_others = self.replace(&discovered.expand(&configs))?;
        *declared = Declared { configs, discovered };
        Ok(are_others)
    }

    /// From now on the engines are these. Those whose settings and key are as before keep their client, and a process whose own
    /// settings are goes on under the others. The clients that are replaced are kept until they are released. Keys are read again.
    fn replace(&self, configs: &[EngineConfig]) -> Result<bool, EngineUnusable> {
        let mut clients = self.lock();
        let named = |config: &EngineConfig| clients.current.iter().find(|it| it.config().name == config.name);
        let made: Vec<_> = configs
            .iter()
            .map(|config| self.opening.client(config, named(config)))
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
