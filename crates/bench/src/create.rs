//! Durable creates: CPU per request at a moderate load, requests per second at 256 connections, compared with an axum handler that reads
//! the same body and does nothing.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use super::Options;
use super::child::Process;
use super::download::Connection;
use super::load;
use super::peers::Peer;
use super::report::{Figure, Report};
use super::service::Site;
use crate::process;

/// Connections for requests per second.
const MANY_CONNECTIONS: usize = 256;

/// Requests before the first round, to warm up connections, caches and code.
pub(super) const WARM_UP: usize = 2_000;

/// No request is released while creates are measured: that is dispatch's work.
pub(super) const AGGREGATION_PERIOD: &str = "12h";

const COMMITS: &str = "overnight_store_commits_total";

/// No process listens there.
pub(super) const NO_ENGINE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

#[derive(Default)]
pub(super) struct Side {
    cpu_us: Vec<f64>,
    per_second: Vec<f64>,
}

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let site = Site::new(options, NO_ENGINE, AGGREGATION_PERIOD)?;
    let service = site.serve().await?;
    let (noop, noop_address) = Process::start_server(&Peer::Noop).await?;
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    load::create(noop_address, &service.key, options.connections, WARM_UP).await?;
    load::create(service.address, &service.key, options.connections, WARM_UP).await?;
    let before = service.process.memory()?;
    let commits = async || {
        // A new connection each time, because one that is idle for a round is closed.
        let mut figures = Connection::open(service.address, &service.key).await?;
        service.counter(&mut figures, COMMITS).await
    };
    let mut in_commit = Vec::new();
    for _ in 0..options.rounds {
        theirs.round(options, &noop, noop_address, &service.key).await?;
        let before = commits().await?;
        ours.round(options, &service.process, service.address, &service.key).await?;
        in_commit.push(2.0 * options.requests as f64 / (commits().await? - before) as f64);
    }
    let after = service.process.memory()?;
    Ok(Report {
        benchmark: format!(
            "create: {} durable creates of 1,024 bytes in each of {} rounds",
            options.requests, options.rounds
        ),
        figures: [
            with_goals(compare(options, &ours, &theirs, "no-op")),
            vec![
                Figure::new("overnight: creates in one commit", "creates", in_commit),
                memory_figure("memory at the start, anonymous", before),
                memory_figure("memory at the end, anonymous", after),
            ],
        ]
        .concat(),
    })
}

fn memory_figure(name: &str, memory: process::Memory) -> Figure {
    Figure::new(name, "MiB", vec![memory.anonymous as f64 / f64::from(1 << 20)])
}

impl Side {
    pub(super) async fn round(
        &mut self,
        options: &Options,
        process: &Process,
        address: SocketAddr,
        key: &str,
    ) -> io::Result<()> {
        let requests = options.requests as f64;
        let before = process.cpu_time()?;
        load::create(address, key, options.connections, options.requests).await?;
        let cpu_time = process.cpu_time()?.saturating_sub(before);
        self.cpu_us.push(cpu_time.as_secs_f64() * 1e6 / requests);
        let took = load::create(address, key, MANY_CONNECTIONS, options.requests).await?;
        self.per_second.push(requests / took.as_secs_f64());
        Ok(())
    }
}

fn with_goals(figures: Vec<Figure>) -> Vec<Figure> {
    let goals = [None, None, Some("<= 4, then 2.5"), None, None, Some(">= 0.40")];
    let with_goal = |(figure, goal): (Figure, Option<&'static str>)| match goal {
        Some(goal) => figure.with_goal(goal),
        None => figure,
    };
    figures.into_iter().zip(goals).map(with_goal).collect()
}

/// The figures of both sides: CPU of the reference, of the service and their ratio, then the same of the rates.
pub(super) fn compare(options: &Options, ours: &Side, theirs: &Side, reference: &str) -> Vec<Figure> {
    let connections = options.connections;
    let cpu = |side: &Side, who: &str| {
        Figure::new(
            format!("{who}: server CPU a request, {connections} connections"),
            "us",
            side.cpu_us.clone(),
        )
    };
    let rate = |side: &Side, who: &str| {
        let name = format!("{who}: requests a second, {MANY_CONNECTIONS} connections");
        Figure::new(name, "/s", side.per_second.clone())
    };
    let (cpu_ours, cpu_theirs) = (cpu(ours, "overnight"), cpu(theirs, reference));
    let (rate_ours, rate_theirs) = (rate(ours, "overnight"), rate(theirs, reference));
    let cpu_ratio = cpu_ours.ratio(&cpu_theirs, format!("server CPU, overnight / {reference}"));
    let rate_ratio = rate_ours.ratio(&rate_theirs, format!("requests a second, overnight / {reference}"));
    vec![cpu_theirs, cpu_ours, cpu_ratio, rate_theirs, rate_ours, rate_ratio]
}
