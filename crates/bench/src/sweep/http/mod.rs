//! The same orders over HTTP: modelled engines on real sockets, whose time runs faster than the clock, and the real service.

mod direct;
mod installation;
mod nodes;
mod posting;
mod report;
mod serving;

use std::io;
use std::path::PathBuf;

use futures_util::future::LocalBoxFuture;
use overnight_testkit::engine::{CostModel, Recording, SimConfig, SimEngine, Speed, Tunables};

use super::orders::FixedOrder;
use super::workload::{Kind, Request, Workload};
use super::{CONCURRENCY, OrderFigures, measure};
use crate::workload::MODEL;

pub(super) use direct::send;
pub(super) use installation::{Setup, complete};
pub use nodes::{NodesFigures, NodesReport, run as run_nodes};
pub use report::{HttpFigures, HttpReport, WayFigures};

/// Replicas of one node.
const REPLICAS: [usize; 2] = [1, 4];

#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub kinds: Vec<Kind>,
    pub requests: usize,
    /// The number of seeds; each is a round.
    pub seeds: usize,
    /// The speed of modelled time, as a multiple of the clock's.
    pub time_scale: f64,
    /// Where data folders are created, and removed at the end.
    pub folder: PathBuf,
}

/// Runs every workload both ways, on one replica and on four. Fails if a child process does not start or ends early, or a request is not
/// completed.
pub fn run(options: &HttpOptions) -> LocalBoxFuture<'_, io::Result<HttpReport>> {
    // Boxed, so that it is compiled here and not as a part of the program.
    Box::pin(measure_all(options))
}

async fn measure_all(options: &HttpOptions) -> io::Result<HttpReport> {
    let mut lines = Vec::new();
    for replicas in REPLICAS {
        for kind in options.kinds.iter().copied() {
            for seed in 0..options.seeds as u64 {
                let workload = kind.generate(options.requests, seed);
                let virtual_time = measure(kind.name(), seed, &workload, replicas);
                lines.push(HttpFigures {
                    workload: kind.name(),
                    seed,
                    replicas,
                    virtual_time: WayFigures {
                        arrival: virtual_time.arrival,
                        sweep: virtual_time.sweep,
                        oracle: virtual_time.oracle,
                    },
                    http: over_http(options, &workload, replicas).await?,
                });
            }
        }
    }
    Ok(HttpReport { time_scale: options.time_scale, lines })
}

async fn over_http(options: &HttpOptions, workload: &Workload, replicas: usize) -> io::Result<WayFigures> {
    let Workload { requests, cost } = workload;
    let slots = CONCURRENCY as usize;
    let arrival = FixedOrder::arrival(requests, replicas, slots);
    let oracle = FixedOrder::oracle(requests, cost, replicas, slots);
    Ok(WayFigures {
        arrival: directly(options, workload, replicas, arrival).await?,
        sweep: swept(options, workload, replicas, "sqlite", 1).await?,
        oracle: directly(options, workload, replicas, oracle).await?,
    })
}

async fn directly(
    options: &HttpOptions,
    workload: &Workload,
    replicas: usize,
    order: FixedOrder,
) -> io::Result<OrderFigures> {
    let engines = Engines::start(options, &workload.cost, replicas)?;
    send(order, &workload.requests, &engines.urls()).await?;
    engines.stop(&workload.requests).await
}

async fn swept(
    options: &HttpOptions,
    workload: &Workload,
    replicas: usize,
    database_url: &str,
    nodes: usize,
) -> io::Result<OrderFigures> {
    let engines = Engines::start(options, &workload.cost, replicas)?;
    let setup = Setup {
        folder: &options.folder,
        engines: &engines.urls(),
        model: MODEL,
        max_concurrency: Some(CONCURRENCY),
        database_url,
        nodes,
    };
    complete(&setup, &workload.requests).await?;
    engines.stop(&workload.requests).await
}

/// Modelled engines with empty caches. They do not report their load, as in virtual time.
struct Engines {
    engines: Vec<SimEngine>,
    time_scale: f64,
}

impl Engines {
    fn start(options: &HttpOptions, cost: &CostModel, replicas: usize) -> io::Result<Self> {
        let config = SimConfig {
            speed: Speed::Modelled(cost.clone().faster(options.time_scale)),
            // As in virtual time, an answer has the maximum length.
            completion_tokens: usize::MAX..=usize::MAX,
            context_tokens: usize::MAX,
            recording: Recording::Off,
            tunables: Tunables { reports_metrics: false, ..Tunables::default() },
            ..SimConfig::default()
        };
        let engines = (0..replicas).map(|_| SimEngine::start(config.clone())).collect::<io::Result<_>>()?;
        Ok(Self { engines, time_scale: options.time_scale })
    }

    fn urls(&self) -> Vec<String> {
        self.engines.iter().map(SimEngine::base_url).collect()
    }

    /// The engines' figures in their own time, from the arrival of the first request to the end of the last.
    async fn stop(self, requests: &[Request]) -> io::Result<OrderFigures> {
        let answered: u64 = self.engines.iter().map(|engine| engine.counters().answered).sum();
        if answered != requests.len() as u64 {
            return Err(io::Error::other(format!("the engines answered {answered} of {}", requests.len())));
        }
        let worked = || self.engines.iter().filter_map(SimEngine::worked);
        let (began_at, ended_at) = (worked().map(|it| it.0).min(), worked().map(|it| it.1).max());
        let elapsed = began_at.zip(ended_at).map(|(began_at, ended_at)| ended_at - began_at);
        let stats = self.engines.iter().filter_map(SimEngine::model_stats);
        let (hits, queries) = stats.fold((0, 0), |(hits, queries), stats| {
            (hits + stats.prefix_cache_hits_total, queries + stats.prefix_cache_queries_total)
        });
        for engine in self.engines {
            engine.stop().await;
        }
        Ok(OrderFigures {
            seconds: elapsed.unwrap_or_default().as_secs_f64() * self.time_scale,
            hit_rate: hits as f64 / queries.max(1) as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::fleet;

    #[tokio::test]
    async fn a_plain_client_finds_over_http_what_virtual_time_finds() {
        let options = HttpOptions {
            kinds: Vec::new(),
            requests: 26,
            seeds: 1,
            time_scale: 1_000.0,
            folder: PathBuf::new(),
        };
        let workload = Kind::DocumentQa.generate(options.requests, 0);
        // With one request in flight, the order does not depend on the time of answers.
        let order = || FixedOrder::arrival(&workload.requests, 1, 1);
        let virtual_time = fleet::run(&workload.requests, &workload.cost, 1, &mut order());
        let http = directly(&options, &workload, 1, order()).await.unwrap();
        assert!(http.hit_rate > 0.5 && (http.hit_rate - virtual_time.hit_rate).abs() < 1e-9, "{http:?}");
        assert!(http.seconds > 0.0, "{http:?}");
    }
}
