//! Benchmarks of the service. Each figure is compared with a reference that was measured in the same run.
//!
//! The service and every reference are separate processes: the programs `overnight` and `overnight-bench`. So their CPU time and memory are
//! read from the system, without the load. Rounds of the service and of the reference alternate; a figure is the median of its rounds, a
//! ratio is computed per round. No benchmark passes or fails, except the growth of a call's CPU: machines are noisy, and CPU per request is the
//! figure to optimize.

mod billing;
mod bulk;
mod child;
mod clock;
mod create;
mod dispatch;
mod download;
mod follow;
mod growth;
mod lease;
mod load;
mod peers;
mod pool;
mod postgres;
mod process;
mod report;
mod restart;
mod service;
mod stream;
mod sweep;
mod webhooks;
mod workload;

use std::io;
use std::path::PathBuf;

use clap::ValueEnum;
use futures_util::future::LocalBoxFuture;

pub use self::growth::{GROWTH_REQUESTS_MIN, GrowthReport, Row as GrowthRow, run as run_growth};
pub use self::peers::{Peer, run as run_peer};
pub use self::report::{Figure, Report};
pub use self::sweep::{
    DeadlineFigures, EngineOptions, FairnessFigures, ForecastFigures, HttpFigures, HttpOptions, HttpReport,
    Kind as SweepKind, LimitFigures, NodesFigures, NodesReport, OrderFigures, OutageFigures,
    SmallQueueFigures, SweepFigures, SweepReport, TraceFormat, TraceReport, WayFigures, run as run_sweep,
    run_engine, run_http, run_nodes, run_trace,
};

/// The program's command, followed by a [`Peer`] as JSON, that plays the role of another process.
pub const PEER_COMMAND: &str = "bench-peer";

/// What is measured on real processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Benchmark {
    /// Durable creates, beside a handler that reads the same body and does nothing.
    Create,
    /// Bulk create over one connection, beside single creates over many.
    Bulk,
    /// Durable creates that hold credits, beside the same where billing is off.
    Billing,
    /// Queued requests to stored results on an instant engine, beside a bare pooled client of that engine.
    Dispatch,
    /// Queued requests of a batch that is followed, beside the same of one that is not and of none.
    Follow,
    /// Queued requests to their receivers, beside the same without webhooks.
    Webhooks,
    /// All requests with their results as JSON Lines, beside a file of the same bytes.
    Stream,
    /// From the start of the process to readiness with everything queued.
    Restart,
    /// Leases from a long queue, beside the same from one that is a fiftieth as long.
    Lease,
    /// Creates and dispatch on a PostgreSQL of its own, beside one INSERT a request through a pool.
    Postgres,
}

#[derive(Debug, Clone)]
pub struct Options {
    /// Requests in each round, or in total if the rounds share them.
    pub requests: usize,
    /// Rounds of each side; a useful median needs at least five.
    pub rounds: usize,
    /// Connections of clients for CPU per request.
    pub connections: usize,
    /// Where the data folder is created, and removed at the end: a real disk, since commits are durable.
    pub folder: PathBuf,
}

impl Benchmark {
    pub const fn default_requests(self) -> usize {
        match self {
            Self::Create | Self::Bulk | Self::Billing | Self::Follow | Self::Webhooks | Self::Postgres => {
                20_000
            }
            Self::Dispatch => 50_000,
            Self::Stream => 100_000,
            Self::Restart => 1_000_000,
            Self::Lease => 5_000_000,
        }
    }
}

/// Fails if a child process does not start or ends early, or the folder cannot be used.
pub fn run(benchmark: Benchmark, options: &Options) -> LocalBoxFuture<'_, io::Result<Report>> {
    // Boxed, so that it is compiled here and not as a part of the program.
    Box::pin(measure(benchmark, options))
}

async fn measure(benchmark: Benchmark, options: &Options) -> io::Result<Report> {
    match benchmark {
        Benchmark::Create => create::run(options).await,
        Benchmark::Bulk => bulk::run(options).await,
        Benchmark::Billing => billing::run(options).await,
        Benchmark::Dispatch => dispatch::run(options).await,
        Benchmark::Follow => follow::run(options).await,
        Benchmark::Webhooks => webhooks::run(options).await,
        Benchmark::Stream => stream::run(options).await,
        Benchmark::Restart => restart::run(options).await,
        Benchmark::Lease => lease::run(options).await,
        Benchmark::Postgres => postgres::run(options).await,
    }
}
