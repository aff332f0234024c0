//! Leases from a filled store, as the scheduler does, and reports how long each took.

use std::io;
use std::path::PathBuf;

use overnight_domain::scheduler::{Position, ReplicaKey};
use overnight_store::Durability;
use overnight_store::queue::{self, KeyRange, leases};
use serde::{Deserialize, Serialize};

use super::fill::{self, RUN};
use super::opening;
use crate::clock;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Leased {
    pub(crate) median_us: f64,
}

pub(super) async fn run(config: PathBuf, count: usize) -> io::Result<Leased> {
    let services = opening::open(config, Durability::Full).await?;
    let store = &services.store;
    let partition = fill::partition(&services).await.map_err(io::Error::other)?;
    let mut times_us = Vec::with_capacity(count);
    let mut after: Option<Position> = None;
    let limit = u32::try_from(2 * RUN).unwrap_or(u32::MAX);
    for _ in 0..count {
        let now = services.clock.now();
        let begun_at = clock::now();
        let range = KeyRange { after: after.as_ref(), until: None };
        let (mut run, _) = queue::look(store, partition, ReplicaKey(0), range, limit, now)
            .await
            .map_err(io::Error::other)?;
        run.truncate(RUN);
        let positions: Vec<Position> = run.into_iter().map(|it| it.position).collect();
        after = positions.last().cloned();
        leases::take(store, partition, positions, now).await.map_err(io::Error::other)?;
        times_us.push(begun_at.elapsed().as_secs_f64() * 1e6);
        if after.is_none() {
            break;
        }
    }
    store.close().await;
    times_us.sort_by(f64::total_cmp);
    Ok(Leased { median_us: times_us.get(times_us.len() / 2).copied().unwrap_or(f64::NAN) })
}
