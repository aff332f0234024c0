//! Everything fails in turn, and each acknowledged request ends once.

use std::sync::Arc;

use overnight_testkit::proof;
use tokio::task::JoinHandle;

use super::{AT_ONCE, CONNECTIONS, LEASE_MS, World, driven, engine_that_takes, wait_until};
use crate::crashes::posting::{Acknowledged, Poster};
use crate::crashes::process::{Service, pause};
use crate::crashes::{assert_own_answer, check_ends, every_end, kills_count, requests_count};

fn post(nodes: &[Service], key: &str, count: usize, acknowledged: &Arc<Acknowledged>) -> Vec<JoinHandle<()>> {
    let posters = nodes.iter().map(|node| {
        let poster = Poster::over(node.client_with(key), count.div_ceil(nodes.len()), "sim", acknowledged);
        tokio::spawn(poster.post(CONNECTIONS))
    });
    posters.collect()
}

/// Stops a node that has requests at an engine for two leases. Their number depends on the speed of the machine.
async fn sleep_over_the_lease(node: &Service) {
    wait_until("a share for the sleeper", async || driven(node).await > 0.0).await;
    wait_until("requests of the sleeper", async || {
        node.figure("overnight_engine_requests_in_flight").await > 0.0
    })
    .await;
    node.signal("STOP");
    pause(2 * LEASE_MS).await;
    node.signal("CONT");
    pause(1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_whatever_becomes_of_nodes_and_database() {
    let count = requests_count(20_000);
    let mut world = World::new(3, &engine_that_takes(100));
    let mut nodes = world.start_three(AT_ONCE).await;
    let key = nodes[0].key();
    let acknowledged = Arc::<Acknowledged>::default();
    let posters = post(&nodes, &key, count, &acknowledged);
    let reached = async |percent: usize| acknowledged.wait_for(count * percent / 100).await;
    reached(10).await;
    world.proxy.drop_commit_answers(4);
    reached(20).await;
    nodes[1].kill().await;
    reached(30).await;
    nodes[1].restart().await;
    for sleep in 1.. {
        sleep_over_the_lease(&nodes[2]).await;
        if nodes[2].figure("overnight_fenced_writes_total").await >= 10.0 {
            break;
        }
        assert!(sleep < 5, "fewer than 10 writes were refused after {sleep} sleeps");
    }
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
    check_ends("killed-nodes", &records, &acknowledged, assert_own_answer);
    assert_eq!(world.proxy.dropped().answers, 8);
    wait_until("an engine for each node", async || {
        let mut shares = Vec::new();
        for node in &nodes {
            shares.push(driven(node).await);
        }
        shares == [1.0; 3]
    })
    .await;
    nodes[0].assert_audited().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_ends_once_though_nodes_are_killed_in_turn() {
    let (count, kills) = (requests_count(6_000), kills_count());
    let world = World::new(3, &engine_that_takes(20));
    let mut nodes = world.start_three(AT_ONCE).await;
    let key = nodes[0].key();
    let acknowledged = Arc::<Acknowledged>::default();
    let posters = post(&nodes, &key, count, &acknowledged);
    for kill in 1..=kills {
        acknowledged.wait_for(count * kill / (kills + 1)).await;
        let place = kill % nodes.len();
        nodes[place].kill_and_restart().await;
    }
    for poster in posters {
        poster.await.expect("everything was posted");
    }
    let records = every_end(&nodes[0].client_with(&key), &acknowledged).await;
    check_ends("nodes-killed-in-turn", &records, &acknowledged, assert_own_answer);
    proof::add("nodes-killed-in-turn", &[("requests", acknowledged.ids().len()), ("kills", kills)]);
    nodes[0].assert_audited().await;
}
