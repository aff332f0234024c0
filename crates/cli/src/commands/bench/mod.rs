//! `overnight bench`: the service measured on this machine, each figure beside a reference of the same run.

mod sweep;

use std::path::Path;

use clap::{Args, ValueEnum};
use overnight_bench::{Benchmark, Options};

use crate::errors::{CliError, Exit};
use crate::globals::Globals;
use crate::output::Output;

/// Rounds of each side.
const ROUNDS: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What to measure.
    #[arg(value_enum, value_name = "WHAT")]
    what: What,
    /// Requests: in each round of `create`, `billing`, `dispatch` and `webhooks`, in all of `stream`, `restart` and `lease`, in each
    /// workload of `sweep`.
    #[arg(long, value_name = "N")]
    requests: Option<usize>,
    /// Rounds of each side, alternating [default: 5; 1 over HTTP].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Connections on which `create` and `billing` measure CPU.
    #[arg(long, value_name = "N", default_value_t = 64)]
    connections: usize,
    #[command(flatten)]
    sweep: sweep::SweepArguments,
}

/// The benchmarks.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Durable creates, beside a handler that does nothing.
    Create,
    /// Durable creates that hold credits, beside the same where billing is off.
    Billing,
    /// Queued requests to stored results on an instant engine, beside a bare client of it.
    Dispatch,
    /// Queued requests to their receivers, beside the same without webhooks.
    Webhooks,
    /// Requests with results as JSON Lines, beside a file of the same bytes.
    Stream,
    /// From a kill to readiness, with everything queued.
    Restart,
    /// Leases from a long queue, beside the same from one that is a fiftieth as long.
    Lease,
    /// Orders of the queue on modelled engines in virtual time, with as many seeds as rounds.
    Sweep,
    /// Creates and dispatch on a PostgreSQL that is started for it, beside one INSERT a request through a pool.
    Postgres,
}

/// The part of another process of a benchmark.
#[derive(Debug, Args)]
pub(crate) struct PeerArguments {
    /// The part, as JSON.
    part: String,
}

pub(crate) async fn run(arguments: Arguments, globals: &Globals, output: &Output) -> Result<Exit, CliError> {
    let Arguments { what, requests, rounds, connections, sweep } = arguments;
    if requests == Some(0) || rounds == Some(0) || connections == 0 {
        return Err(CliError::unusable("--requests, --rounds and --connections must be at least 1"));
    }
    let data_dir = globals.load_config()?.data_dir;
    let folder = data_dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let benchmark = match what {
        What::Sweep => return Box::pin(sweep.run(requests, rounds, folder, output)).await,
        _ if sweep.are_given() => {
            return Err(CliError::unusable("only `sweep` takes the options of `sweep`"));
        }
        What::Create => Benchmark::Create,
        What::Billing => Benchmark::Billing,
        What::Dispatch => Benchmark::Dispatch,
        What::Webhooks => Benchmark::Webhooks,
        What::Stream => Benchmark::Stream,
        What::Restart => Benchmark::Restart,
        What::Lease => Benchmark::Lease,
        What::Postgres => Benchmark::Postgres,
    };
    let (requests, rounds) = (requests.unwrap_or(benchmark.default_requests()), rounds.unwrap_or(ROUNDS));
    let options = Options { requests, rounds, connections, folder: folder.to_owned() };
    output.note(&format!("measuring in {}, on durable commits; this takes minutes", folder.display()));
    let report = overnight_bench::run(benchmark, &options).await.map_err(CliError::unavailable)?;
    output.either(&report, || report.to_string().trim_end().to_owned())?;
    Ok(Exit::Done)
}

/// Plays a part for [`run`] in a process of its own.
pub(crate) async fn run_peer(arguments: PeerArguments) -> Result<Exit, CliError> {
    let peer = serde_json::from_str(&arguments.part).map_err(CliError::unusable)?;
    overnight_bench::run_peer(peer).await.map_err(CliError::unavailable)?;
    Ok(Exit::Done)
}
