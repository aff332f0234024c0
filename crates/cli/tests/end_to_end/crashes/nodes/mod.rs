//! Several nodes on one PostgreSQL.

mod kills;
mod prefixes;
mod readers;
mod rolling;

use overnight_testkit::engine::{SimConfig, SimEngine, Tunables};
use overnight_testkit::postgres::{Cluster, ClusterOptions, FaultProxy};

use super::process::{Service, pause};

const LEASE_MS: u64 = 3_000;
const CONNECTIONS: usize = 24;

/// Aggregation periods: requests run immediately, or only when all of them exist, even on a busy machine.
const AT_ONCE: &str = "50ms";
const GATHERED: &str = "30s";

/// A database that can be restarted, engines that all nodes reach, and the settings of a node.
struct World {
    cluster: Cluster,
    proxy: FaultProxy,
    engines: Vec<SimEngine>,
}

impl World {
    fn new(engines: usize, config: &SimConfig) -> Self {
        let cluster = Cluster::start(&ClusterOptions::default()).expect("a PostgreSQL");
        cluster.database("overnight").expect("a database");
        let proxy = FaultProxy::start(&cluster).expect("a proxy");
        let engines = (0..engines).map(|_| SimEngine::start(config.clone()).expect("an engine")).collect();
        Self { cluster, proxy, engines }
    }

    fn settings(&self, node: &str, aggregation_period: &str) -> String {
        let url = self.proxy.url("overnight");
        let mut settings = format!(
            "database_url = \"{url}\"\nnode = \"{node}\"\nlease = \"{LEASE_MS}ms\"\n\
             aggregation_period = \"{aggregation_period}\"\nlinger = \"1s\"\n[[models]]\nname = \"sim\"\n"
        );
        for (number, engine) in self.engines.iter().enumerate() {
            settings += &format!(
                "[[engines]]\nname = \"sim-{number}\"\nkind = \"openai\"\nshared = true\nbase_url = \"{}\"\n\
                 models = {{ \"sim\" = \"sim-model\" }}\nmax_concurrency = {}\n",
                engine.base_url(),
                if aggregation_period == GATHERED { 16 } else { 64 }
            );
        }
        settings
    }

    async fn start(&self, node: &str, aggregation_period: &str) -> Service {
        Service::start(&self.settings(node, aggregation_period)).await
    }

    async fn start_three(&self, aggregation_period: &str) -> Vec<Service> {
        let mut nodes = Vec::new();
        for name in ["a", "b", "c"] {
            nodes.push(self.start(name, aggregation_period).await);
        }
        nodes
    }
}

/// The number of engines that a node drives.
async fn driven(node: &Service) -> f64 {
    node.figure("overnight_engine_driven").await
}

async fn wait_until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if is_so().await {
            return;
        }
        pause(100).await;
    }
    panic!("{what} did not come about within a minute");
}

fn engine_that_takes(base_latency_ms: u64) -> SimConfig {
    let config = SimConfig::default();
    SimConfig { tunables: Tunables { base_latency_ms, ..config.tunables }, ..config }
}
