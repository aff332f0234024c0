//! The real service with engines: all requests are posted before any is leased. The nodes are paused while the requests become ready, one
//! after the other as they were posted; then all requests are released together.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::posting::post;
use super::serving::{Node, wait_for_ends, wait_for_shares};
use crate::clock;
use crate::service::Site;
use crate::sweep::workload::Request;

/// How long posted requests gather.
const GATHERING: Duration = Duration::from_secs(8);
/// The nodes are paused from this long before the first request is ready until this long after the last one is. Nodes whose heartbeat is
/// older than a lease (10 s) are removed by the others.
const STILL: Duration = Duration::from_millis(500);
const POSTING_MAX: Duration = Duration::from_secs(7);

#[derive(Debug, Clone)]
pub(in crate::sweep) struct Setup<'a> {
    /// Where the data folders are created.
    pub(in crate::sweep) folder: &'a Path,
    pub(in crate::sweep) engines: &'a [String],
    pub(in crate::sweep) model: &'a str,
    /// Requests in flight at each engine; if `None`, the service finds the limit itself.
    pub(in crate::sweep) max_concurrency: Option<u32>,
    /// "sqlite", or an empty database.
    pub(in crate::sweep) database_url: &'a str,
    pub(in crate::sweep) nodes: usize,
}

impl Setup<'_> {
    fn settings(&self) -> String {
        let mut settings = format!(
            "aggregation_period = \"{}s\"\ndatabase_url = {:?}\n[billing]\nenabled = false\n[[models]]\nname = {:?}\n",
            GATHERING.as_secs(),
            self.database_url,
            self.model
        );
        for (number, base_url) in self.engines.iter().enumerate() {
            let _ = write!(
                settings,
                "[[engines]]\nname = \"engine-{number}\"\nkind = \"openai\"\nbase_url = {base_url:?}\nshared = true\n\
                 request_timeout = \"1h\"\n"
            );
            if let Some(most) = self.max_concurrency {
                let _ = writeln!(settings, "max_concurrency = {most}");
            }
        }
        settings
    }
}

/// Runs the service until all requests are completed; returns the duration from when all of them waited.
pub(in crate::sweep) async fn complete(setup: &Setup<'_>, requests: &[Request]) -> io::Result<Duration> {
    let settings = setup.settings();
    let sites: Vec<Site> =
        (0..setup.nodes).map(|_| Site::configured(setup.folder, &settings)).collect::<io::Result<_>>()?;
    let first = sites.first().ok_or_else(|| io::Error::other("there is no node"))?;
    let mut keys = BTreeMap::new();
    for account in requests.iter().map(|request| request.account) {
        // The service creates the first account itself.
        if account != 1 && !keys.contains_key(&account) {
            keys.insert(account, first.make_account().await?);
        }
    }
    let mut nodes = Vec::with_capacity(sites.len());
    for site in &sites {
        nodes.push(Node::start(site).await?);
    }
    keys.insert(1, nodes[0].service.key.clone());
    wait_for_shares(&mut nodes, setup.engines.len()).await?;
    let began_at = clock::now();
    post(&nodes[0].service, &keys, requests).await?;
    stand_still(&nodes, began_at).await?;
    for node in &mut nodes {
        node.reconnect().await?;
    }
    let ready_at = clock::now();
    let ended_at = wait_for_ends(&mut nodes, requests.len()).await?;
    for node in nodes {
        node.service.process.kill().await?;
    }
    Ok(ended_at - ready_at)
}

/// Pauses the nodes while the requests posted since `began_at` become ready.
async fn stand_still(nodes: &[Node], began_at: Instant) -> io::Result<()> {
    let posted = began_at.elapsed();
    if posted > POSTING_MAX {
        return Err(io::Error::other(format!("posting took {posted:?}: use fewer requests")));
    }
    sleep(GATHERING - STILL - posted).await;
    nodes.iter().try_for_each(|node| node.service.process.pause())?;
    sleep(posted + 2 * STILL).await;
    nodes.iter().try_for_each(|node| node.service.process.resume())
}

async fn sleep(duration: Duration) {
    clock::sleep_ms(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)).await;
}
