//! On a separate PostgreSQL with durable commits: creates compared with an axum handler that does one INSERT a request through a pool, and
//! dispatch compared with a bare client of the engine. The database's own CPU is counted too.

use std::io;
use std::time::Duration;

use overnight_testkit::postgres::{Cluster, ClusterOptions, Durability};

use super::child::Process;
use super::create::{AGGREGATION_PERIOD, NO_ENGINE, Side, WARM_UP};
use super::dispatch::{COMPLETED, IN_FLIGHT, drain};
use super::peers::{Drained, Peer, Stage};
use super::report::{Figure, Report};
use super::service::Site;
use super::{Options, load, process};

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let cluster =
        Cluster::start(&ClusterOptions { durability: Durability::Disk, ..ClusterOptions::default() })?;
    let mut figures = creates(options, &cluster).await?;
    figures.extend(dispatch(options, &cluster).await?);
    Ok(Report {
        benchmark: format!(
            "postgres: {} creates and as many dispatched requests in each of {} rounds, on a PostgreSQL with durable commits",
            options.requests, options.rounds
        ),
        figures,
    })
}

/// The CPU time of the server and all its sessions, including ended ones.
pub(super) fn cpu_time(cluster: &Cluster) -> io::Result<Duration> {
    let process = cluster.process_id().ok_or_else(|| io::Error::other("PostgreSQL's server does not run"))?;
    process::cpu_time_with_children(process)
}

async fn creates(options: &Options, cluster: &Cluster) -> io::Result<Vec<Figure>> {
    let site = Site::on(options, NO_ENGINE, AGGREGATION_PERIOD, &cluster.database("creates")?)?;
    let service = site.serve().await?;
    let (insert, address) =
        Process::start_server(&Peer::Insert { database_url: cluster.database("inserts")? }).await?;
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    let (mut our_database, mut their_database) = (Vec::new(), Vec::new());
    load::create(address, &service.key, options.connections, WARM_UP).await?;
    load::create(service.address, &service.key, options.connections, WARM_UP).await?;
    // Each round of a side sends its requests twice: for the CPU, and for the rate.
    let per_request = |used: Duration| used.as_secs_f64() * 1e6 / (2 * options.requests) as f64;
    for _ in 0..options.rounds {
        let before = cpu_time(cluster)?;
        theirs.round(options, &insert, address, &service.key).await?;
        let between = cpu_time(cluster)?;
        ours.round(options, &service.process, service.address, &service.key).await?;
        their_database.push(per_request(between.saturating_sub(before)));
        our_database.push(per_request(cpu_time(cluster)?.saturating_sub(between)));
    }
    let mut figures = super::create::compare(options, &ours, &theirs, "one INSERT each");
    let name = |who: &str| format!("{who}: PostgreSQL's CPU a create");
    let (our_database, their_database) = (
        Figure::new(name("overnight"), "us", our_database),
        Figure::new(name("one INSERT each"), "us", their_database),
    );
    let ratio = our_database.ratio(&their_database, "PostgreSQL's CPU, overnight / one INSERT each");
    figures.extend([their_database, our_database, ratio]);
    Ok(figures)
}

async fn dispatch(options: &Options, cluster: &Cluster) -> io::Result<Vec<Figure>> {
    let (_engine, engine) = Process::start_server(&Peer::Engine).await?;
    let client = Peer::Client { engine, requests: options.requests, in_flight: IN_FLIGHT };
    let (mut ours, mut theirs, mut our_database) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let drained: Drained = Process::run_peer(&client).await?;
        theirs.push(options.requests as f64 / drained.seconds);
        let site = Site::on(options, engine, "0s", &cluster.database(&format!("dispatch_{round}"))?)?;
        site.fill(options.requests, Stage::Queued, None).await?;
        let before = cpu_time(cluster)?;
        ours.push(drain(site.serve().await?, COMPLETED, options.requests).await?);
        let used = cpu_time(cluster)?.saturating_sub(before);
        our_database.push(used.as_secs_f64() * 1e6 / options.requests as f64);
    }
    let rate = |who: &str, rounds| {
        Figure::new(format!("{who}: dispatched a second, {IN_FLIGHT} in flight"), "/s", rounds)
    };
    let theirs = rate("bare client", theirs);
    let (rates, cpu_us): (Vec<_>, Vec<_>) = ours.into_iter().unzip();
    let ours = rate("overnight", rates);
    let ratio = ours.ratio(&theirs, "dispatched a second, overnight / bare client");
    let cpu = Figure::new("overnight: CPU a dispatched request", "us", cpu_us);
    let database = Figure::new("overnight: PostgreSQL's CPU a dispatched request", "us", our_database);
    Ok(vec![theirs, ours, ratio, cpu, database])
}
