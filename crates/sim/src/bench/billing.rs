//! What billing costs a create: the same load on a service that holds credits for each request, and on one that does not.

use std::io;

use super::create::{AGGREGATION_PERIOD, NO_ENGINE, Side, WARM_UP, compare};
use super::report::Report;
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
    let mut figures = compare(options, &ours, &theirs, "billing off");
    if let Some(ratio) = figures.get_mut(2) {
        *ratio = ratio.clone().with_goal(GOAL);
    }
    Ok(Report {
        benchmark: format!(
            "billing: {} durable creates of 1,024 bytes in each of {} rounds, each holding credits of one account",
            options.requests, options.rounds
        ),
        figures,
    })
}
