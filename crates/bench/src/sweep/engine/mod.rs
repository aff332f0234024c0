//! The same on a real engine: a plain client in order of arrival and the service, in alternating rounds that begin with a cold prefix
//! cache.

mod counters;
mod prompts;

use std::io;
use std::path::PathBuf;

use futures_util::future::LocalBoxFuture;

use super::http::{Setup, complete, send};
use super::orders::FixedOrder;
use super::workload::Request;
use crate::clock;
use crate::report::{Figure, Report};
use counters::Place;
use prompts::Kind;

#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// `http://HOST:PORT/v1`.
    pub base_url: String,
    pub model: String,
    /// Its process: CPU is measured for it and its descendants.
    pub pid: Option<u32>,
    /// Requests in flight of the plain client, and of the service in the way with a configured limit.
    pub in_flight: u32,
    pub requests: usize,
    pub rounds: usize,
    /// Where data folders are created, and removed at the end.
    pub folder: PathBuf,
}

/// How requests reach the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A plain client sends them in order of arrival.
    Arrival,
    /// The service, which finds the limit of concurrent requests itself.
    Sweep,
    /// The service with a configured limit.
    SweepTold,
}

impl Way {
    const ALL: [Self; 3] = [Self::Arrival, Self::Sweep, Self::SweepTold];

    const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Sweep => "sweep, limit found",
            Self::SweepTold => "sweep, limit told",
        }
    }
}

#[derive(Debug, Default)]
struct Rounds {
    seconds: Vec<f64>,
    hit_rates: Vec<f64>,
    cpu_seconds: Vec<f64>,
}

/// Measures two workloads in every way. Fails if the engine cannot be reached or refuses a request, or the service does not start or
/// stalls.
pub fn run(options: &EngineOptions) -> LocalBoxFuture<'_, io::Result<Report>> {
    // Boxed, so that it is compiled here and not as a part of the program.
    Box::pin(measure_all(options))
}

async fn measure_all(options: &EngineOptions) -> io::Result<Report> {
    let place = Place::parse(&options.base_url)?;
    let mut figures = Vec::new();
    for kind in Kind::ALL {
        let mut ways = Way::ALL.map(|_| Rounds::default());
        for round in 0..options.rounds {
            for turn in 0..Way::ALL.len() {
                // Each round begins with another way, so that none is always first.
                let at = (turn + round) % Way::ALL.len();
                let salt = salt(round, at);
                let requests = kind.generate(options.requests, &options.model, salt);
                measure(options, &place, Way::ALL[at], &requests, &mut ways[at]).await?;
            }
        }
        figures.extend(figures_of(kind, ways));
    }
    Ok(Report {
        benchmark: format!(
            "sweep on {} ({}): {} requests of each workload in each of {} rounds, {} in flight",
            options.base_url, options.model, options.requests, options.rounds, options.in_flight
        ),
        figures,
    })
}

/// Differs for each process, round and way.
fn salt(round: usize, way: usize) -> u64 {
    u64::from(std::process::id()) << 32 | (round as u64) << 8 | way as u64
}

async fn measure(
    options: &EngineOptions,
    place: &Place,
    way: Way,
    requests: &[Request],
    rounds: &mut Rounds,
) -> io::Result<()> {
    place.forget_prefixes().await?;
    let before = place.count(options.pid).await?;
    let engines = [options.base_url.trim_end_matches('/').to_owned()];
    let elapsed = match way {
        Way::Arrival => {
            let began_at = clock::now();
            let order = FixedOrder::arrival(requests, 1, options.in_flight as usize);
            send(order, requests, &engines).await?;
            began_at.elapsed()
        }
        Way::Sweep | Way::SweepTold => {
            let setup = Setup {
                folder: &options.folder,
                engines: &engines,
                model: &options.model,
                max_concurrency: (way == Way::SweepTold).then_some(options.in_flight),
                database_url: "sqlite",
                nodes: 1,
            };
            complete(&setup, requests).await?
        }
    };
    let after = place.count(options.pid).await?;
    rounds.seconds.push(elapsed.as_secs_f64());
    rounds.hit_rates.extend(after.hit_rate_since(&before).map(|share| share * 100.0));
    rounds.cpu_seconds.extend(after.cpu_seconds_since(&before));
    Ok(())
}

/// The figures of one workload: of each way, and each way of the service against order of arrival.
fn figures_of(kind: Kind, ways: [Rounds; 3]) -> Vec<Figure> {
    let (mut all, mut seconds) = (Vec::new(), Vec::new());
    for (way, rounds) in Way::ALL.into_iter().zip(ways) {
        let name = |what: &str| format!("{}: {}: {what}", kind.name(), way.name());
        let time = Figure::new(name("until the last completion"), "s", rounds.seconds);
        seconds.push(time.clone());
        all.push(time);
        if !rounds.hit_rates.is_empty() {
            all.push(Figure::new(name("prompt tokens found"), "%", rounds.hit_rates));
        }
        if !rounds.cpu_seconds.is_empty() {
            all.push(Figure::new(name("CPU of the engine"), "s", rounds.cpu_seconds));
        }
    }
    let [arrival, swept @ ..] = seconds.as_slice() else { return all };
    for (way, sweep) in [Way::Sweep, Way::SweepTold].into_iter().zip(swept) {
        all.push(arrival.ratio(sweep, format!("{}: arrival / {}", kind.name(), way.name())));
    }
    all
}
