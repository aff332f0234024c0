//! Arguments of the benchmarks.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Parser, ValueEnum};
use overnight_bench::{Benchmark, GROWTH_REQUESTS_MIN, Options, PEER_COMMAND, run_growth};

use super::{Failure, Output, ROUNDS, say, sweep};

const SWEEP_HELP: &str =
    "Orders of the queue on modelled engines in virtual time, with as many seeds as rounds";
const GROWTH_HELP: &str =
    "Cost of calls with 10,000, 100,000, … requests; fails if one costs more than 1.5 times as much";
const GROWTH_REQUESTS: usize = 1_000_000;

/// Measures the service on this machine, each figure beside a reference of the same run.
#[derive(Debug, Parser)]
#[command(name = "overnight-bench", bin_name = "overnight bench", version)]
pub(crate) struct Arguments {
    /// What to measure.
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
    /// A part of a benchmark for a process of its own, as JSON.
    #[arg(hide = true)]
    part: Option<String>,
    /// Requests: in each round of `create`, `bulk`, `billing`, `dispatch`, `follow` and `webhooks`, in all of `stream`, `restart`, `lease` and `growth`,
    /// in each workload of `sweep`.
    #[arg(long, value_name = "N")]
    requests: Option<usize>,
    /// Rounds of each side, alternating [default: 5; 1 over HTTP].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Connections on which `create`, `bulk` and `billing` measure.
    #[arg(long, value_name = "N", default_value_t = 64)]
    connections: usize,
    /// Where folders of data are made, and removed at the end: on a real disk, because commits are durable.
    #[arg(long, value_name = "FOLDER", default_value = ".", overrides_with = "folder")]
    folder: PathBuf,
    /// Print the report as JSON.
    #[arg(long, overrides_with = "json")]
    json: bool,
    /// Say nothing beside the report and errors.
    #[arg(long, short, overrides_with = "quiet")]
    quiet: bool,
    #[command(flatten)]
    sweep: sweep::SweepArguments,
}

#[derive(Debug, Clone, Copy)]
enum What {
    Benchmark(Benchmark),
    Growth,
    GrowthOnPostgres,
    Sweep,
    Peer,
}

impl ValueEnum for What {
    fn value_variants<'a>() -> &'a [Self] {
        static ALL: LazyLock<Vec<What>> = LazyLock::new(|| {
            let benchmarks = Benchmark::value_variants().iter().copied().map(What::Benchmark);
            benchmarks.chain([What::Growth, What::GrowthOnPostgres, What::Sweep, What::Peer]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Benchmark(benchmark) => benchmark.to_possible_value(),
            Self::Growth => Some(PossibleValue::new("growth").help(GROWTH_HELP)),
            Self::GrowthOnPostgres => {
                Some(PossibleValue::new("growth-postgres").help("The same on a new PostgreSQL"))
            }
            Self::Sweep => Some(PossibleValue::new("sweep").help(SWEEP_HELP)),
            Self::Peer => Some(PossibleValue::new(PEER_COMMAND).hide(true)),
        }
    }
}

/// Measures, or plays the role of another process.
pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { what, part, requests, rounds, connections, folder, json, quiet, sweep } = arguments;
    match (what, part) {
        (What::Peer, Some(part)) => {
            let peer = serde_json::from_str(&part).map_err(Failure::unusable)?;
            return overnight_bench::run_peer(peer).await.map_err(Failure::unavailable);
        }
        (What::Peer, None) => return Err(Failure::unusable(format!("{PEER_COMMAND} takes a part"))),
        (_, Some(part)) => return Err(Failure::unusable(format!("nothing takes {part:?}"))),
        (_, None) => {}
    }
    if requests == Some(0) || rounds == Some(0) || connections == 0 {
        return Err(Failure::unusable("--requests, --rounds and --connections must be at least 1"));
    }
    let output = Output { is_json: json };
    if matches!(what, What::Sweep) {
        return Box::pin(sweep.run(requests, rounds, &folder, output)).await;
    }
    if sweep.are_given() {
        return Err(Failure::unusable("only `sweep` takes the options of `sweep`"));
    }
    let default_requests = match what {
        What::Benchmark(benchmark) => benchmark.default_requests(),
        _ => GROWTH_REQUESTS,
    };
    let (requests, rounds) = (requests.unwrap_or(default_requests), rounds.unwrap_or(ROUNDS));
    if !quiet {
        say(&format!("measuring in {}, on durable commits; this takes minutes", folder.display()));
    }
    if !matches!(what, What::Benchmark(_)) && requests < GROWTH_REQUESTS_MIN {
        return Err(Failure::unusable(format!(
            "--requests of `growth` must be at least {GROWTH_REQUESTS_MIN}"
        )));
    }
    let options = Options { requests, rounds, connections, folder };
    let What::Benchmark(benchmark) = what else {
        let report = run_growth(&options, matches!(what, What::GrowthOnPostgres)).await;
        let report = report.map_err(Failure::unavailable)?;
        output.print(&report)?;
        return if report.grows() {
            Err(Failure::missed("a call costs more as the store grows"))
        } else {
            Ok(())
        };
    };
    output.print(&overnight_bench::run(benchmark, &options).await.map_err(Failure::unavailable)?)
}
