//! Readers see every line once while several nodes write and fail.

use std::collections::HashSet;
use std::sync::Arc;

use overnight_client::{Client, Error};
use overnight_testkit::proof;
use overnight_wire::native::batches::CreateBatch;
use overnight_wire::native::requests::{Order, RequestFilter};
use tokio::task::JoinSet;

use super::{CONNECTIONS, World, engine_that_takes};
use crate::crashes::posting::{Acknowledged, Poster};
use crate::crashes::process::{Service, pause};
use crate::crashes::{PATIENCE, requests_count};

/// Long enough for the batch to exist before its first request ends.
const GATHERED: &str = "5s";
const FOLLOWERS: usize = 6;

/// A reader's nodes; it uses the next one when a call fails.
#[derive(Clone)]
struct Nodes {
    clients: Vec<Client>,
    place: usize,
}

impl Nodes {
    async fn next(&mut self, _: Error) {
        self.place += 1;
        pause(100).await;
    }

    fn client(&self) -> &Client {
        &self.clients[self.place % self.clients.len()]
    }
}

/// Reads the pages of the caller's requests, oldest first, until all expected ones have appeared.
async fn read_pages(mut nodes: Nodes, is_all: impl Fn(&[String]) -> bool) -> Vec<String> {
    let mut read = Vec::new();
    while !is_all(&read) {
        let filter = RequestFilter {
            after: read.last().cloned(),
            limit: Some(50),
            order: Some(Order::Asc),
            ..RequestFilter::default()
        };
        if let Err(error) = read_page(nodes.client(), &filter, &mut read).await {
            nodes.next(error).await;
        }
        pause(2).await;
    }
    read
}

async fn read_page(client: &Client, filter: &RequestFilter, read: &mut Vec<String>) -> Result<(), Error> {
    let mut lines = client.list_requests(filter).await?;
    while let Some(line) = lines.next().await {
        read.push(line?.id);
    }
    Ok(())
}

/// Follows a batch until its list ends cleanly.
async fn follow(mut nodes: Nodes, batch: String) -> Vec<String> {
    let mut read: Vec<String> = Vec::new();
    loop {
        let mut following = nodes.client().follow_batch_results(&batch, read.last().map(String::as_str));
        let broken = loop {
            match following.next().await {
                Some(Ok(record)) => read.push(record.id),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        match broken {
            Some(error) => nodes.next(error).await,
            None => return read,
        }
    }
}

/// Kills a node and restarts the database one second later; then restarts the node.
async fn fail(world: &mut World, node: &mut Service) {
    node.kill().await;
    pause(1_000).await;
    world.cluster.restart_immediate().expect("a restart");
    pause(1_000).await;
    node.restart().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_reads_while_nodes_write_and_die_sees_every_line_once() {
    let count = requests_count(5_000);
    let mut world = World::new(3, &engine_that_takes(200));
    let mut services = world.start_three(GATHERED).await;
    let key = services[0].key();
    let clients: Vec<Client> = services.iter().map(|node| node.client_with(&key)).collect();
    let nodes = |place| Nodes { clients: clients.clone(), place };
    let acknowledged = Arc::<Acknowledged>::default();
    let mut posters = JoinSet::new();
    for client in &clients {
        let poster = Poster::over(client.clone(), count / clients.len(), "sim", &acknowledged);
        posters.spawn(poster.post(CONNECTIONS));
    }
    let mut pages = JoinSet::new();
    for place in 0..clients.len() {
        let (all, acknowledged) = (count / clients.len() * clients.len(), Arc::clone(&acknowledged));
        // Requests that were stored without an answer are listed too.
        let is_all = move |read: &[String]| {
            let ids = acknowledged.ids();
            read.len() >= all && ids.len() == all && is_within(&ids, read)
        };
        pages.spawn(read_pages(nodes(place), is_all));
    }
    acknowledged.wait_for(count / 3).await;
    fail(&mut world, &mut services[1]).await;
    posters.join_all().await;
    let lists = tokio::time::timeout(PATIENCE, pages.join_all()).await.expect("every line is read");
    for list in &lists {
        assert_eq!(list.iter().collect::<HashSet<_>>().len(), list.len(), "a line was read twice");
    }

    let requests_ids = acknowledged.ids();
    let batch = CreateBatch { requests_ids, webhook: None, metadata: None };
    let batch = clients[0].create_batch(&batch).await.expect("a batch").id;
    let mut followers = JoinSet::new();
    for place in 0..FOLLOWERS {
        followers.spawn(follow(nodes(place), batch.clone()));
    }
    pause(1_000).await;
    fail(&mut world, &mut services[2]).await;
    let lists = tokio::time::timeout(PATIENCE, followers.join_all()).await.expect("every list ends");
    for list in &lists {
        assert_eq!(list, &lists[0], "two followers read another order");
        assert_eq!(list.iter().collect::<HashSet<_>>().len(), list.len(), "a line was read twice");
        assert!(is_within(&acknowledged.ids(), list), "a line was missed");
    }
    services[0].assert_audited().await;
    let figure = format!(
        "{} requests: {} readers by pages beside the writers and {FOLLOWERS} followers of their batch read each line once, while two nodes were killed and the database restarted twice",
        lists[0].len(),
        clients.len()
    );
    proof::record("readers", &figure);
}

fn is_within(ids: &[String], read: &[String]) -> bool {
    let read: HashSet<&String> = read.iter().collect();
    ids.iter().all(|id| read.contains(id))
}
