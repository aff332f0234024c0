//! Failover of PostgreSQL: three machines under Patroni, whose leader is killed and disconnected under load.
//!
//! `OVERNIGHT_FAIL_OVERS` sets how often the leader is killed; after each five kills it is disconnected once.

mod machines;
mod patroni;

use std::sync::Arc;
use std::time::Duration;

use overnight_client::Error;
use overnight_testkit::engine::{SimConfig, SimEngine};
use overnight_testkit::proof;

use self::machines::Machines;
use self::patroni::Patroni;
use super::posting::{Acknowledged, Poster};
use super::process::{self, Service, pause};
use super::{assert_own_answer, ends_of, every_end, wait_for_ends_despite};

const CONNECTIONS: usize = 8;
/// Time limit for a replication cluster to have a leader and a synchronous standby again.
const PATIENCE: Duration = Duration::from_secs(120);
/// The default number of kills of the leader.
const KILLS: usize = 1;
/// The number of kills before the leader is disconnected.
const KILLS_A_CUT: usize = 5;
/// Requests acknowledged between two events.
const REQUESTS: usize = 300;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_though_postgresql_fails_over() {
    let machines = match Machines::start(3) {
        Ok(machines) => machines,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return proof::record("fail-over", &format!("skipped: {reason}"));
        }
    };
    let patroni = Patroni::start(machines);
    patroni.settled(PATIENCE).await;
    let engine = SimEngine::start(SimConfig::default()).expect("an engine");
    engine.tune(|tunables| tunables.base_latency_ms = 20);
    let of_engine = process::settings_of_engine(&engine.base_url(), "sim-model");
    let of_node = |node: &str| {
        format!("database_url = \"{}\"\nnode = \"{node}\"\nlease = \"3s\"\n{of_engine}", patroni.url())
    };
    let nodes = [Service::start(&of_node("a")).await, Service::start(&of_node("b")).await];
    let kills = std::env::var("OVERNIGHT_FAIL_OVERS").map_or(KILLS, |text| text.parse().expect("a number"));
    let cuts = kills.div_ceil(KILLS_A_CUT);
    let acknowledged = Arc::<Acknowledged>::default();
    let key = nodes[0].key();
    let count = REQUESTS * (kills + cuts + 1);
    let posters = nodes.iter().map(|node| {
        let poster = Poster::over(node.client_with(&key), count / nodes.len(), "sim", &acknowledged);
        tokio::spawn(poster.post(CONNECTIONS))
    });
    let posters: Vec<_> = posters.collect();
    for event in 1..=kills + cuts {
        acknowledged.wait_for(REQUESTS * event).await;
        let leader = patroni.leader().await.expect("a leader");
        let is_cut = event % (KILLS_A_CUT + 1) == 0 || event == kills + cuts;
        patroni.fail(leader, is_cut);
        patroni.another_leads(leader, PATIENCE).await;
        // The old and the new leader both run for a while.
        pause(2_000).await;
        patroni.mend(leader, is_cut);
        patroni.settled(PATIENCE).await;
    }
    for poster in posters {
        poster.await.expect("everything was posted");
    }
    // On a busy machine the leader may change once more, and nobody answers meanwhile.
    let client = nodes[0].client_with(&key);
    let is_outage = |error: &Error| error.code() == Some("unavailable");
    wait_for_ends_despite(&client, acknowledged.ids().len(), is_outage).await;
    let records = every_end(&client, &acknowledged).await;
    let ends = ends_of(&records, &acknowledged, assert_own_answer);
    nodes[0].assert_audited().await;
    proof::record("fail-over", &format!("leaders killed: {kills}; leaders cut off: {cuts}; {ends}"));
}
