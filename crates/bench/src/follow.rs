//! The cost of following a batch's results: the same dispatch of requests without a batch, of one batch, and of one batch that a client
//! follows.

use std::io;

use serde::Deserialize;
use tokio::task::JoinSet;

use super::Options;
use super::child::Process;
use super::dispatch::{COMPLETED, drain};
use super::download::Connection;
use super::peers::{Peer, Stage};
use super::report::{Figure, Report};
use super::service::{Service, Site};

#[derive(Deserialize)]
struct Batch {
    id: String,
}

pub(super) async fn run(options: &Options) -> io::Result<Report> {
    let (_engine, engine) = Process::start_server(&Peer::Engine).await?;
    let site = || Site::new(options, engine, "0s");
    let (single, batched) = (site()?, site()?);
    single.fill(options.requests, Stage::Queued, None).await?;
    batched.fill_batch(options.requests).await?;
    let mut sides = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..options.rounds {
        for (place, side) in sides.iter_mut().enumerate() {
            let site = site()?;
            site.copy_data_of(if place == 0 { &single } else { &batched })?;
            let service = site.serve().await?;
            // It ends with the service.
            let _follower = if place == 2 { follow(&service).await? } else { JoinSet::new() };
            side.push(drain(service, COMPLETED, options.requests).await?);
        }
    }
    let names = ["in no batch", "in a batch", "followed"];
    let figures = |what: &str, unit, value: fn(&(f64, f64)) -> f64| {
        let sides = names.iter().zip(&sides);
        let figures = sides.map(|(name, rounds)| {
            Figure::new(format!("{name}: {what}"), unit, rounds.iter().map(value).collect())
        });
        figures.collect::<Vec<_>>()
    };
    let mut all = figures("requests a second", "/s", |round| round.0);
    let cpu = figures("CPU of a dispatch", "us", |round| round.1);
    let ratios = [
        cpu[1].ratio(&cpu[0], "CPU, in a batch / in none"),
        cpu[2].ratio(&cpu[1], "CPU, followed / not followed"),
    ];
    all.extend(cpu);
    all.extend(ratios);
    Ok(Report {
        benchmark: format!(
            "follow: {} queued requests in each of {} rounds, in no batch, in one, and in one that is followed",
            options.requests, options.rounds
        ),
        figures: all,
    })
}

/// Follows the only batch until the service ends.
async fn follow(service: &Service) -> io::Result<JoinSet<io::Result<u64>>> {
    let mut connection = Connection::open(service.address, &service.key).await?;
    let listed = connection.get("/v1/batches?limit=1").await?;
    let Batch { id } = serde_json::from_slice(&listed)?;
    let mut follower = JoinSet::new();
    follower.spawn(async move { connection.drain(&format!("/v1/batches/{id}/results?follow=true")).await });
    Ok(follower)
}
