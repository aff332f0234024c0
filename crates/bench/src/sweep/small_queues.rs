//! Queues with fewer requests than the replicas have slots, or only slightly more: whether every replica has work.

use std::fmt;

use serde::Serialize;

use super::fleet::Dispatcher;
use super::orders::FixedOrder;
use super::swept::{Limit, Swept};
use super::workload::{Kind, Workload};
use super::{CONCURRENCY, OrderFigures};

const KINDS: [Kind; 2] = [Kind::DocumentQa, Kind::Chat];
const REQUESTS: [usize; 2] = [100, 400];
const REPLICAS: usize = 4;

/// One small queue on four replicas. Seconds are virtual.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SmallQueueFigures {
    pub workload: &'static str,
    pub seed: u64,
    pub requests: usize,
    /// The service's own order.
    pub sweep: OrderFigures,
    /// A depth-first walk of the true tree of prefixes, a part of it on each replica.
    pub oracle: OrderFigures,
}

/// Measures each size of queue with this number of seeds.
pub(super) fn measure(seeds: usize) -> Vec<SmallQueueFigures> {
    let queues = KINDS.into_iter().flat_map(|kind| REQUESTS.map(|requests| (kind, requests)));
    queues
        .flat_map(|(kind, requests)| (0..seeds as u64).map(move |it| measure_one(kind, requests, it)))
        .collect()
}

fn measure_one(kind: Kind, count: usize, seed: u64) -> SmallQueueFigures {
    let Workload { mut requests, cost } = kind.generate(count, seed);
    requests.truncate(count);
    let in_order = |dispatcher: &mut dyn Dispatcher| {
        OrderFigures::measure(kind.name(), &requests, &cost, REPLICAS, dispatcher)
    };
    SmallQueueFigures {
        workload: kind.name(),
        seed,
        requests: requests.len(),
        sweep: in_order(&mut Swept::new(&requests, REPLICAS, Limit::Told(CONCURRENCY))),
        oracle: in_order(&mut FixedOrder::oracle(&requests, &cost, REPLICAS, CONCURRENCY as usize)),
    }
}

impl SmallQueueFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>8} {:>4} {:>14} {:>14} {:>9}",
            "small queue", "requests", "seed", "sweep", "oracle", "of oracle"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:>8} {:>4} {:>14} {:>14} {:>9.3}",
                line.workload,
                line.requests,
                line.seed,
                line.sweep,
                line.oracle,
                line.oracle.seconds / line.sweep.seconds
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_queue_keeps_every_replica_busy() {
        for line in measure(1) {
            let share = line.oracle.seconds / line.sweep.seconds;
            assert!(share > 0.75, "{} of {}: {share:.3}", line.workload, line.requests);
        }
    }
}
