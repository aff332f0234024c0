//! The duration of a lease as the queue grows.

use std::io;
use std::net::SocketAddr;

use super::Options;
use super::child::Process;
use super::peers::{Leased, Peer, Stage};
use super::report::{Figure, Report};
use super::service::Site;

/// The small queue for comparison, as a part of the large one.
const SMALLER: usize = 50;
const LEASES: usize = 200;

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let engine = SocketAddr::from(([127, 0, 0, 1], 1));
    let few = (options.requests / SMALLER).max(1);
    let (small, large) = (Site::new(options, engine, "0s")?, Site::new(options, engine, "0s")?);
    small.fill(few, Stage::Queued, None).await?;
    large.fill(options.requests, Stage::Queued, None).await?;
    let (mut of_few, mut of_many) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        of_few.push(lease(&small).await?);
        of_many.push(lease(&large).await?);
    }
    let of_few = Figure::new(format!("a lease of 128 from {few} queued"), "us", of_few);
    let of_many = Figure::new(format!("the same from {} queued", options.requests), "us", of_many);
    let ratio = of_many.ratio(&of_few, "ratio").with_goal("<= 1.5");
    Ok(Report {
        benchmark: format!("lease: {LEASES} scans and durable leases of 128, in order"),
        figures: vec![of_few, of_many, ratio],
    })
}

/// The median of a round, in microseconds.
async fn lease(site: &Site) -> io::Result<f64> {
    let lease = Peer::Lease { config: site.config(), leases: LEASES };
    let Leased { median_us } = Process::run_peer(&lease).await?;
    Ok(median_us)
}
