//! Several nodes on one PostgreSQL, compared with one node.

use std::fmt;
use std::io;

use futures_util::future::LocalBoxFuture;
use overnight_testkit::postgres::{Cluster, ClusterOptions, Durability};
use serde::Serialize;

use super::{HttpOptions, swept};
use crate::sweep::OrderFigures;

/// Engine replicas that the nodes share.
const REPLICAS: [usize; 2] = [4, 6];

/// One workload on one number of replicas, driven by one node and by several.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodesFigures {
    pub workload: &'static str,
    pub seed: u64,
    pub replicas: usize,
    pub one: OrderFigures,
    pub several: OrderFigures,
}

/// The cost of several nodes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodesReport {
    /// The speed of the engines' time, as a multiple of the clock's.
    pub time_scale: f64,
    /// The number of nodes in `several`.
    pub nodes: usize,
    /// A line for each number of replicas, workload and seed.
    pub lines: Vec<NodesFigures>,
}

/// Runs every workload with one node and with `nodes` nodes on a PostgreSQL that is started for it. Fails if a child process does not start
/// or ends early, or a request is not completed.
pub fn run(options: &HttpOptions, nodes: usize) -> LocalBoxFuture<'_, io::Result<NodesReport>> {
    Box::pin(measure_all(options, nodes))
}

async fn measure_all(options: &HttpOptions, nodes: usize) -> io::Result<NodesReport> {
    let cluster =
        Cluster::start(&ClusterOptions { durability: Durability::Disk, ..ClusterOptions::default() })?;
    let mut lines: Vec<NodesFigures> = Vec::new();
    for replicas in REPLICAS {
        for kind in options.kinds.iter().copied() {
            for seed in 0..options.seeds as u64 {
                let workload = kind.generate(options.requests, seed);
                let database = |nodes: usize| cluster.database(&format!("sweep_{}_{nodes}", lines.len()));
                let one = swept(options, &workload, replicas, &database(1)?, 1).await?;
                let several = swept(options, &workload, replicas, &database(nodes)?, nodes).await?;
                lines.push(NodesFigures { workload: kind.name(), seed, replicas, one, several });
            }
        }
    }
    Ok(NodesReport { time_scale: options.time_scale, nodes, lines })
}

impl fmt::Display for NodesReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "the engines' time runs {} times faster than the clock", self.time_scale)?;
        writeln!(
            formatter,
            "{:<22} {:>8} {:>4} {:>16} {:>16} {:>14} {:>9}",
            "workload",
            "replicas",
            "seed",
            "1 node",
            format!("{} nodes", self.nodes),
            "hits",
            "seconds"
        )?;
        for line in &self.lines {
            let order = |it: OrderFigures| format!("{:.1} s ({:.3})", it.seconds, it.hit_rate);
            let points = (line.several.hit_rate - line.one.hit_rate) * 100.0;
            let percent = (line.several.seconds / line.one.seconds - 1.0) * 100.0;
            writeln!(
                formatter,
                "{:<22} {:>8} {:>4} {:>16} {:>16} {:>14} {:>9}",
                line.workload,
                line.replicas,
                line.seed,
                order(line.one),
                order(line.several),
                format!("{points:+.1} points"),
                format!("{percent:+.1} %")
            )?;
        }
        Ok(())
    }
}
