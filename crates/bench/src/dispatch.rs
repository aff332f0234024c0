//! From the queue to stored results on an engine that takes no time, with 256 in flight, compared with a bare pooled client that sends the
//! same bodies to the same engine and stores nothing.

use std::io;
use std::time::{Duration, Instant};

use super::child::Process;
use super::download::Connection;
use super::peers::{Drained, Peer, Stage};
use super::report::{Figure, Report};
use super::service::{Service, Site};
use super::{Options, clock};

pub(super) const IN_FLIGHT: usize = 256;
const POLL_MS: u64 = 25;
pub(super) const COMPLETED: &str = "overnight_requests_ended_total{outcome=\"completed\"}";

/// A stall of the service for this long fails the benchmark.
const STALL_MAX: Duration = Duration::from_secs(60);

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let (_engine, engine_address) = Process::start_server(&Peer::Engine).await?;
    let filled = Site::new(options, engine_address, "0s")?;
    filled.fill(options.requests, Stage::Queued, None).await?;
    let disk = filled.database_bytes()? as f64 / options.requests as f64;
    let client = Peer::Client { engine: engine_address, requests: options.requests, in_flight: IN_FLIGHT };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let drained: Drained = Process::run_peer(&client).await?;
        let requests = options.requests as f64;
        theirs.push((requests / drained.seconds, drained.cpu_seconds * 1e6 / requests));
        let site = Site::new(options, engine_address, "0s")?;
        site.copy_data_of(&filled)?;
        ours.push(drain(site.serve().await?, COMPLETED, options.requests).await?);
    }
    let rate = |side: &[(f64, f64)], who: &str| {
        let name = format!("{who}: requests a second, {IN_FLIGHT} in flight");
        Figure::new(name, "/s", side.iter().map(|round| round.0).collect())
    };
    let cpu = |side: &[(f64, f64)], who: &str| {
        Figure::new(format!("{who}: CPU a request"), "us", side.iter().map(|round| round.1).collect())
    };
    let (rate_ours, rate_theirs) = (rate(&ours, "overnight"), rate(&theirs, "bare client"));
    let (cpu_ours, cpu_theirs) = (cpu(&ours, "overnight"), cpu(&theirs, "bare client"));
    let ratio =
        rate_ours.ratio(&rate_theirs, "requests a second, overnight / bare client").with_goal(">= 0.45");
    let cpu_ratio = cpu_ours.ratio(&cpu_theirs, "CPU, overnight / bare client");
    let disk = Figure::new("disk of a queued request of 1 KB", "bytes", vec![disk]).with_goal("<= 1600");
    Ok(Report {
        benchmark: format!(
            "dispatch: {} queued requests in each of {} rounds",
            options.requests, options.rounds
        ),
        figures: vec![rate_theirs, rate_ours, ratio, cpu_theirs, cpu_ours, cpu_ratio, disk],
    })
}

struct Sample {
    at: Instant,
    done: usize,
    cpu_time: Duration,
}

/// Runs the service until `counter` has counted all requests. Returns requests a second and CPU microseconds a request, from the first
/// sample with a completed request to the sample with the last one.
pub(super) async fn drain(service: Service, counter: &str, requests: usize) -> io::Result<(f64, f64)> {
    let mut connection = Connection::open(service.address, &service.key).await?;
    let mut first: Option<Sample> = None;
    let mut moved_at = clock::now();
    let mut seen = 0;
    loop {
        let sample = sample(&service, &mut connection, counter).await?;
        if sample.done > seen {
            (seen, moved_at) = (sample.done, sample.at);
        } else if moved_at.elapsed() > STALL_MAX {
            let figures = service.figures(&mut connection).await?;
            let figures: Vec<_> = figures.lines().filter(|line| line.starts_with("overnight_")).collect();
            let stalled = format!("the service stalled at {seen} of {requests}: {figures:#?}");
            return Err(io::Error::other(stalled));
        }
        if sample.done >= requests {
            let first = first.unwrap_or(Sample { done: 0, ..sample });
            let count = (sample.done - first.done).max(1) as f64;
            let seconds = (sample.at - first.at).as_secs_f64();
            let cpu_seconds = sample.cpu_time.saturating_sub(first.cpu_time).as_secs_f64();
            service.process.kill().await?;
            return Ok((count / seconds, cpu_seconds * 1e6 / count));
        }
        if first.is_none() && sample.done > 0 {
            first = Some(sample);
        }
        clock::sleep_ms(POLL_MS).await;
    }
}

async fn sample(service: &Service, connection: &mut Connection, counter: &str) -> io::Result<Sample> {
    let done = service.counter(connection, counter).await?;
    Ok(Sample { at: clock::now(), done, cpu_time: service.process.cpu_time()? })
}
