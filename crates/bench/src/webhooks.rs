//! The cost of webhooks: the same dispatch with a webhook for every request, and without one. The receiver answers immediately, and every
//! delivery has its own connection.

use std::io;

use super::Options;
use super::child::Process;
use super::dispatch::{COMPLETED, drain};
use super::peers::{Peer, Stage};
use super::report::{Figure, Report};
use super::service::Site;

const DELIVERED: &str = "overnight_webhook_tries_total{outcome=\"delivered\"}";

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let (_engine, engine) = Process::start_server(&Peer::Engine).await?;
    let (_receiver, receiver) = Process::start_server(&Peer::Noop).await?;
    let webhook = format!("http://{receiver}/v1/requests");
    let site = || Site::telling(options, engine);
    let (silent, told) = (site()?, site()?);
    silent.fill(options.requests, Stage::Queued, None).await?;
    told.fill(options.requests, Stage::Queued, Some(webhook)).await?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        for (filled, counter, rounds) in [(&silent, COMPLETED, &mut without), (&told, DELIVERED, &mut with)] {
            let site = site()?;
            site.copy_data_of(filled)?;
            rounds.push(drain(site.serve().await?, counter, options.requests).await?);
        }
    }
    let cpu = |rounds: &[(f64, f64)], name: &str| {
        Figure::new(name, "us", rounds.iter().map(|round| round.1).collect())
    };
    let rate =
        Figure::new("told: deliveries a second, to one receiver", "/s", with.iter().map(|it| it.0).collect());
    let silent = cpu(&without, "not told: CPU of a dispatch");
    let told = cpu(&with, "told: CPU of a dispatch and its delivery");
    let ratio = told.ratio(&silent, "CPU, told / not told");
    Ok(Report {
        benchmark: format!(
            "webhooks: {} queued requests in each of {} rounds, from the queue to a receiver",
            options.requests, options.rounds
        ),
        figures: vec![rate, silent, told, ratio],
    })
}
