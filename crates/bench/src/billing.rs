//! The cost of billing: the same creates and the same dispatch on a service that holds and charges credits for each request, and on one
//! that does not.

use std::io;

use super::child::Process;
use super::create::{AGGREGATION_PERIOD, NO_ENGINE, Side, WARM_UP, compare};
use super::dispatch::{COMPLETED, drain};
use super::peers::{Peer, Stage};
use super::report::{Figure, Report};
use super::service::Site;
use super::{Options, load};

/// The share of CPU that billing may add.
const GOAL: &str = "<= 1.15";

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let site = |is_charged| Site::priced(options, NO_ENGINE, AGGREGATION_PERIOD, is_charged);
    let (charged, free) = (site(true)?, site(false)?);
    let (with, without) = (charged.serve().await?, free.serve().await?);
    for service in [&with, &without] {
        load::create(service.address, &service.key, options.connections, WARM_UP).await?;
    }
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    for _ in 0..options.rounds {
        theirs.round(options, &without.process, without.address, &without.key).await?;
        ours.round(options, &with.process, with.address, &with.key).await?;
    }
    drop((with, without));
    let mut figures = compare(options, &ours, &theirs, "billing off");
    if let Some(ratio) = figures.get_mut(2) {
        *ratio = ratio.clone().with_goal(GOAL);
    }
    figures.extend(dispatch(options).await?);
    Ok(Report {
        benchmark: format!(
            "billing: {} durable creates of 1,024 bytes, and as many dispatched, in each of {} rounds, all of one account",
            options.requests, options.rounds
        ),
        figures,
    })
}

/// The CPU of a request from the queue to its stored result, on an engine that takes no time.
async fn dispatch(options: &Options) -> io::Result<Vec<Figure>> {
    let (_engine, engine) = Process::start_server(&Peer::Engine).await?;
    let free = Site::priced(options, engine, "0s", false)?;
    let charged = Site::priced(options, engine, "0s", true)?;
    free.fill(options.requests, Stage::Queued, None).await?;
    charged.fill(options.requests, Stage::Queued, None).await?;
    let (mut off, mut on) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        off.push(cpu_of_drain(options, &free, Site::priced(options, engine, "0s", false)?).await?);
        on.push(cpu_of_drain(options, &charged, Site::priced(options, engine, "0s", true)?).await?);
    }
    let off = Figure::new("billing off: CPU of a dispatch", "us", off);
    let on = Figure::new("overnight: CPU of a dispatch", "us", on);
    let ratio = on.ratio(&off, "CPU of a dispatch, overnight / billing off");
    Ok(vec![off, on, ratio])
}

/// Microseconds a request, on a copy of the filled folder.
async fn cpu_of_drain(options: &Options, filled: &Site, site: Site) -> io::Result<f64> {
    site.copy_data_of(filled)?;
    drain(site.serve().await?, COMPLETED, options.requests).await.map(|(_, cpu_us)| cpu_us)
}
