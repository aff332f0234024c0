//! Three nodes on one PostgreSQL, while everything fails that can: what was acknowledged ends once.

use std::sync::Arc;

use overnight_sim::engine::{SimConfig, SimEngine, echo_of};
use overnight_sim::postgres::{Cluster, ClusterOptions, FaultProxy};

use super::posting::{Acknowledged, Poster, content_of};
use super::process::{Service, pause};
use super::{check_ends, every_end, requests_count};

const LEASE_MS: u64 = 3_000;
const CONNECTIONS: usize = 24;

/// A database that can be failed, engines that all nodes reach, and the settings of a node among them.
struct World {
    cluster: Cluster,
    proxy: FaultProxy,
    engines: Vec<SimEngine>,
}

impl World {
    fn new(engines: usize, latency_ms: u64) -> Self {
        let cluster = Cluster::start(&ClusterOptions::default()).expect("a PostgreSQL");
        cluster.database("overnight").expect("a database");
        let proxy = FaultProxy::start(&cluster).expect("a proxy");
        let start = |_| SimEngine::start(SimConfig::default()).expect("an engine");
        let engines: Vec<SimEngine> = (0..engines).map(start).collect();
        engines.iter().for_each(|engine| engine.tune(|tunables| tunables.base_latency_ms = latency_ms));
        Self { cluster, proxy, engines }
    }

    fn settings(&self, node: &str) -> String {
        let url = self.proxy.url("overnight");
        let mut settings = format!(
            "database_url = \"{url}\"\nnode = \"{node}\"\nlease = \"{LEASE_MS}ms\"\naggregation_period = \"50ms\"\n\
             [[models]]\nname = \"sim\"\n"
        );
        for (number, engine) in self.engines.iter().enumerate() {
            settings += &format!(
                "[[engines]]\nname = \"sim-{number}\"\nkind = \"openai\"\nshared = true\nbase_url = \"{}\"\n\
                 models = {{ \"sim\" = \"sim-model\" }}\nmax_concurrency = 64\n",
                engine.base_url()
            );
        }
        settings
    }

    async fn start(&self, node: &str) -> Service {
        Service::start(&self.settings(node)).await
    }
}

/// The engines that a node drives.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_whatever_becomes_of_nodes_and_database() {
    let count = requests_count(20_000);
    let mut world = World::new(3, 100);
    let mut nodes = vec![world.start("a").await, world.start("b").await, world.start("c").await];
    let key = nodes[0].key();
    let acknowledged = Arc::<Acknowledged>::default();
    let posters = nodes.iter().map(|node| {
        let poster = Poster::over(node.client_with(&key), count.div_ceil(nodes.len()), "sim", &acknowledged);
        tokio::spawn(poster.post(CONNECTIONS))
    });
    let posters: Vec<_> = posters.collect();
    let reached = async |percent: usize| acknowledged.wait_for(count * percent / 100).await;
    reached(10).await;
    world.proxy.drop_commit_answers(4);
    reached(20).await;
    nodes[1].kill().await;
    reached(30).await;
    nodes[1].restart().await;
    wait_until("a share for the sleeper", async || driven(&nodes[2]).await > 0.0).await;
    nodes[2].signal("STOP");
    pause(2 * LEASE_MS).await;
    nodes[2].signal("CONT");
    reached(60).await;
    world.cluster.restart_immediate().expect("a restart");
    reached(70).await;
    world.proxy.drop_commit_answers(4);
    reached(80).await;
    world.cluster.restart_immediate().expect("a restart");
    for poster in posters {
        poster.await.expect("everything was posted");
    }
    let records = every_end(&nodes[0].client_with(&key), &acknowledged).await;
    check_ends(&records, &acknowledged, |record| {
        let result = record.result_body.as_ref().map(|body| body.get().to_owned()).unwrap_or_default();
        assert!(
            result.contains(&echo_of(&content_of(record))),
            "{} got another's answer: {result}",
            record.id
        );
    });
    assert_eq!(world.proxy.dropped().answers, 8);
    let zombies = nodes[2].figure("overnight_zombie_writes_total").await;
    assert!(zombies >= 10.0, "{zombies} writes of the sleeper were refused");
    wait_until("an engine for each node", async || {
        let mut shares = Vec::new();
        for node in &nodes {
            shares.push(driven(node).await);
        }
        shares == [1.0; 3]
    })
    .await;
    eprintln!("{zombies} zombie writes refused");
    nodes[0].assert_audited().await;
}
