//! `sweep`: the effect of the queue's order.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use overnight_bench::{
    EngineOptions, HttpOptions, SweepKind, TraceFormat, run_engine, run_http, run_nodes, run_sweep, run_trace,
};

use super::{Failure, Output, ROUNDS};

/// Requests of each workload in virtual time.
const REQUESTS: usize = 1_600;
/// Requests of each workload over HTTP.
const HTTP_REQUESTS: usize = 800;
const HTTP_SEEDS: usize = 1;
/// Requests of each workload on a real engine.
const ENGINE_REQUESTS: usize = 300;
const ENGINE_ROUNDS: usize = 3;

#[derive(Debug, Args)]
#[command(next_help_heading = "Options of `sweep`")]
pub(super) struct SweepArguments {
    /// Measures over HTTP too: modelled engines on sockets, a plain client of them, and the real service; each figure beside
    /// virtual time. Takes minutes.
    #[arg(long)]
    http: bool,
    /// Measures so many nodes on a PostgreSQL that is started for it, over HTTP, beside one node on it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(2..=16))]
    nodes: Option<u8>,
    /// Measures only this workload over HTTP [default: all].
    #[arg(long, value_enum, value_name = "NAME")]
    workload: Option<Workload>,
    /// How many times faster than the clock the engines' time runs over HTTP.
    #[arg(long, value_name = "TIMES", default_value_t = 4.0)]
    time_scale: f64,
    /// Measures a real engine at this base URL, such as http://127.0.0.1:8000/v1, with prompts of at most about 1,500 tokens: a
    /// plain client in order of arrival beside the service, in alternating rounds with a cold prefix cache.
    #[arg(long, value_name = "URL", requires = "model", conflicts_with_all = ["http", "nodes"])]
    engine: Option<String>,
    /// The model that the real engine serves.
    #[arg(long, value_name = "NAME", requires = "engine")]
    model: Option<String>,
    /// The real engine's process: its CPU is measured, with that of all that it started.
    #[arg(long, value_name = "PID", requires = "engine")]
    engine_pid: Option<u32>,
    /// Requests in flight at the real engine: of the plain client, and of the service where it is told.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    in_flight: u32,
    /// Measures the first requests of a published trace, in virtual time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["http", "nodes", "engine"])]
    trace: Option<PathBuf>,
    /// The format of the trace [default: as its first line tells].
    #[arg(long, value_enum, requires = "trace")]
    format: Option<Format>,
}

/// What clients do.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Workload {
    /// Questions about documents.
    DocumentQa,
    /// Rows behind the examples of a task.
    FewShot,
    /// Turns of conversations.
    Chat,
    /// Rows of tables.
    TableRows,
    /// Steps of agents of two accounts.
    Agents,
}

impl From<Workload> for SweepKind {
    fn from(workload: Workload) -> Self {
        match workload {
            Workload::DocumentQa => Self::DocumentQa,
            Workload::FewShot => Self::FewShot,
            Workload::Chat => Self::Chat,
            Workload::TableRows => Self::TableRows,
            Workload::Agents => Self::Agents,
        }
    }
}

/// Formats of traces.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// JSON Lines with timestamp, input_length, output_length and hash_ids, a hash for 512 tokens.
    Mooncake,
    /// JSON Lines with chat_id, parent_chat_id, timestamp, input_length, output_length, type, turn and hash_ids, a hash for 16
    /// tokens.
    QwenBailian,
}

impl From<Format> for TraceFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Mooncake => Self::Mooncake,
            Format::QwenBailian => Self::QwenBailian,
        }
    }
}

impl SweepArguments {
    /// Whether an option was given that changes the measurement.
    pub(super) const fn are_given(&self) -> bool {
        self.http
            || self.nodes.is_some()
            || self.engine.is_some()
            || self.trace.is_some()
            || self.workload.is_some()
    }

    pub(super) async fn run(
        self,
        requests: Option<usize>,
        rounds: Option<usize>,
        folder: &Path,
        output: Output,
    ) -> Result<(), Failure> {
        if self.workload.is_some() && !self.http && self.nodes.is_none() {
            return Err(Failure::unusable("--workload goes with --http or --nodes"));
        }
        if !(self.time_scale >= 0.1 && self.time_scale <= 1_000.0) {
            return Err(Failure::unusable("--time-scale must be from 0.1 to 1000"));
        }
        let over_http = HttpOptions {
            kinds: self.workload.map_or(SweepKind::ALL.to_vec(), |workload| vec![workload.into()]),
            requests: requests.unwrap_or(HTTP_REQUESTS),
            seeds: rounds.unwrap_or(HTTP_SEEDS),
            time_scale: self.time_scale,
            folder: folder.to_owned(),
        };
        if let Some(file) = self.trace {
            let report = run_trace(&file, self.format.map(Into::into), requests.unwrap_or(REQUESTS));
            let unusable = |error| Failure::unusable(format!("{}: {error}", file.display()));
            output.print(&report.map_err(unusable)?)
        } else if let (Some(base_url), Some(model)) = (self.engine, self.model) {
            let on_engine = EngineOptions {
                base_url,
                model,
                pid: self.engine_pid,
                in_flight: self.in_flight,
                requests: requests.unwrap_or(ENGINE_REQUESTS),
                rounds: rounds.unwrap_or(ENGINE_ROUNDS),
                folder: folder.to_owned(),
            };
            output.print(&run_engine(&on_engine).await.map_err(Failure::unavailable)?)
        } else if let Some(nodes) = self.nodes {
            let report = run_nodes(&over_http, nodes.into()).await.map_err(Failure::unavailable)?;
            output.print(&report)
        } else if self.http {
            output.print(&run_http(&over_http).await.map_err(Failure::unavailable)?)
        } else {
            output.print(&run_sweep(requests.unwrap_or(REQUESTS), rounds.unwrap_or(ROUNDS)))
        }
    }
}
