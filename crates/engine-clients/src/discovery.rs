//! Engines that DNS names: each of their addresses is a replica, and they change as a fleet does.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, join_all};
use overnight_base::clock::SharedClock;
use overnight_config::EngineConfig;
use tokio::sync::Mutex as AsyncMutex;
use url::Host;

const LOOKUP_MS: i64 = 5_000;

/// How long the address of a replica that has left stays known, in milliseconds. DNS may still answer with it, and the engine may still run.
const REMEMBERED_MS: i64 = 10 * 60_000;

/// Replicas of one name; further addresses are omitted.
const REPLICAS_MAX: usize = 512;

pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

pub(super) fn system_lookup() -> Lookup {
    Arc::new(|name| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// The addresses of the names, by engine. A name that cannot be resolved, or has no address now, keeps its old addresses: if the engines
/// are down they are paused, and if only DNS is, nothing is lost.
#[derive(Clone, Default)]
pub(super) struct Discovered(BTreeMap<String, Found>);

#[derive(Clone, Default)]
struct Found {
    addresses: BTreeSet<IpAddr>,
    failure: Option<String>,
}

impl Discovered {
    pub(super) async fn look_up(
        &self,
        configs: &[EngineConfig],
        lookup: &Lookup,
        clock: &SharedClock,
    ) -> Self {
        let discovered = configs.iter().filter(|config| config.is_discovered());
        let found = discovered.map(|config| async {
            let before = self.0.get(&config.name).cloned().unwrap_or_default();
            (config.name.clone(), before.next(config, lookup, clock).await)
        });
        Self(join_all(found).await.into_iter().collect())
    }

    /// The engines, with a replica for each address instead of each name, and for each model of an engine that holds one at a time.
    pub(super) fn expand(&self, configs: &[EngineConfig]) -> Vec<EngineConfig> {
        let replicas = |config: &EngineConfig| match config.is_discovered() {
            false => config.of_each_model(),
            true => {
                let found = self.0.get(&config.name).map(|found| &found.addresses);
                found.into_iter().flatten().map(|address| config.at(*address)).collect()
            }
        };
        configs.iter().flat_map(replicas).collect()
    }

    /// Logs changes of addresses, once they are in use.
    pub(super) fn tell_changes_since(&self, before: &Self) {
        let none = Found::default();
        for (engine, found) in &self.0 {
            let before = &before.0.get(engine).unwrap_or(&none).addresses;
            let added: Vec<_> = found.addresses.difference(before).collect();
            let removed: Vec<_> = before.difference(&found.addresses).collect();
            if !added.is_empty() || !removed.is_empty() {
                tracing::info!(engine, ?added, ?removed, "its addresses have changed");
            }
        }
    }

    /// Why no address of an engine is known.
    pub(super) fn failure(&self, engine: &str) -> Option<String> {
        self.0.get(engine)?.failure.clone()
    }
}

impl Found {
    async fn next(self, config: &EngineConfig, lookup: &Lookup, clock: &SharedClock) -> Self {
        let engine = &config.name;
        let addresses = match look_up(config, lookup, clock).await {
            Ok(addresses) => addresses,
            Err(failure) => {
                if self.failure.as_ref() != Some(&failure) {
                    tracing::warn!(engine, "its addresses stay as they were: {failure}");
                }
                return Self { failure: Some(failure), ..self };
            }
        };
        let addresses: BTreeSet<_> = addresses.into_iter().take(REPLICAS_MAX).collect();
        Self { addresses, failure: None }
    }
}

/// Addresses of engines, known for some minutes after they were last seen.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<SocketAddr, i64>);

impl Seen {
    pub(super) fn note(&mut self, addresses: impl IntoIterator<Item = SocketAddr>, now: i64) {
        self.0.retain(|_, until| *until > now);
        self.0.extend(addresses.into_iter().map(|address| (address, now.saturating_add(REMEMBERED_MS))));
    }

    pub(super) fn known(&self, now: i64) -> impl Iterator<Item = SocketAddr> {
        self.0.iter().filter(move |(_, until)| **until > now).map(|(address, _)| *address)
    }
}

/// The address in an engine's base URL; `None` if that has a name.
pub(super) fn address(config: &EngineConfig) -> Option<SocketAddr> {
    let url = &config.openai()?.base_url;
    let address = match url.host()? {
        Host::Ipv4(address) => address.into(),
        Host::Ipv6(address) => address.into(),
        Host::Domain(_) => return None,
    };
    Some(SocketAddr::new(address, url.port_or_known_default()?))
}

/// The replicas in DNS, for a process that drives no engines.
pub struct EngineNames {
    lookup: Lookup,
    clock: SharedClock,
    discovered: AsyncMutex<Discovered>,
    seen: Mutex<Seen>,
}

impl EngineNames {
    pub fn new(clock: &SharedClock) -> Self {
        let (lookup, clock) = (system_lookup(), SharedClock::clone(clock));
        Self { lookup, clock, discovered: AsyncMutex::default(), seen: Mutex::default() }
    }

    /// With another resolver.
    #[must_use]
    pub fn with_lookup(self, lookup: Lookup) -> Self {
        Self { lookup, ..self }
    }

    /// Resolves the names of these engines.
    pub async fn look_up_again(&self, configs: &[EngineConfig]) {
        let mut discovered = self.discovered.lock().await;
        *discovered = discovered.look_up(configs, &self.lookup, &self.clock).await;
        let replicas = discovered.expand(configs);
        self.lock().note(replicas.iter().filter_map(address), self.clock.now());
    }

    /// The addresses of replicas that are in DNS or were some minutes ago.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.lock().known(self.clock.now()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// At least one address, all of one family, because a machine with both would be two replicas.
async fn look_up(
    config: &EngineConfig,
    lookup: &Lookup,
    clock: &SharedClock,
) -> Result<BTreeSet<IpAddr>, String> {
    let name = config.openai().and_then(|openai| openai.base_url.domain()).unwrap_or_default().to_owned();
    let found = tokio::select! {
        found = lookup(name.clone()) => found.map_err(|error| error.to_string()),
        () = clock.sleep_until(clock.now().saturating_add(LOOKUP_MS)) => Err("no answer in time".to_owned()),
    };
    let found: BTreeSet<IpAddr> =
        found.map_err(|why| format!("{name} cannot be looked up: {why}"))?.into_iter().collect();
    let of_v4: BTreeSet<IpAddr> = found.iter().filter(|address| address.is_ipv4()).copied().collect();
    let chosen = if of_v4.is_empty() { found } else { of_v4 };
    if chosen.is_empty() { Err(format!("{name} has no address")) } else { Ok(chosen) }
}
