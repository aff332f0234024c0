//! The effect of the queue's order: the same requests on the same modelled engines, in order of arrival, sorted within each file, swept by
//! the scheduler, and in the best known order. Time is virtual: a night takes seconds.

mod baseline;
mod chance;
mod deadlines;
mod engine;
mod fairness;
mod fleet;
mod forecasts;
mod http;
mod isolation;
mod limits;
mod orders;
mod outage;
mod outlook;
mod small_queues;
mod swept;
mod trace;
mod workload;

use std::fmt;

use overnight_testkit::engine::CostModel;
use serde::Serialize;

pub use self::deadlines::DeadlineFigures;
pub use self::engine::{EngineOptions, run as run_engine};
pub use self::fairness::FairnessFigures;
use self::fleet::{Dispatcher, Outcome};
pub use self::forecasts::ForecastFigures;
pub use self::http::{HttpFigures, HttpOptions, HttpReport, NodesFigures, NodesReport, WayFigures};
pub use self::http::{run as run_http, run_nodes};
pub use self::limits::LimitFigures;
use self::orders::FixedOrder;
pub use self::outage::OutageFigures;
pub use self::small_queues::SmallQueueFigures;
use self::swept::{Limit, Swept};
pub use self::trace::{TraceFormat, TraceReport, run as run_trace};
pub use self::workload::Kind;
use self::workload::{Request, Workload};

/// Requests in flight on each replica.
const CONCURRENCY: u32 = 64;
/// Replicas, and the multiple of requests that they get.
const FLEETS: [(usize, usize); 3] = [(1, 1), (4, 1), (16, 4)];

/// The duration and hit rate of one order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderFigures {
    /// Virtual seconds until the last request was completed.
    pub seconds: f64,
    /// Prompt tokens found in a cache, as a share of all.
    pub hit_rate: f64,
}

impl OrderFigures {
    /// Runs the requests on this number of replicas. Panics if a request is not completed.
    fn measure(
        name: &str,
        requests: &[Request],
        cost: &CostModel,
        replicas: usize,
        dispatcher: &mut dyn Dispatcher,
    ) -> Self {
        let Outcome { seconds, hit_rate, completed, .. } = fleet::run(requests, cost, replicas, dispatcher);
        assert_eq!(completed, requests.len(), "{name}: not every request was completed");
        Self { seconds, hit_rate }
    }
}

impl fmt::Display for OrderFigures {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&format!("{:.1} s ({:.3})", self.seconds, self.hit_rate))
    }
}

/// The figures of one workload on one number of replicas.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepFigures {
    pub workload: &'static str,
    pub seed: u64,
    pub replicas: usize,
    pub arrival: OrderFigures,
    /// The service's estimate of the hit rate in order of arrival.
    pub baseline: f64,
    /// File after file, each sorted by its prompts.
    pub sorted_files: OrderFigures,
    /// The service's own order.
    pub sweep: OrderFigures,
    /// A depth-first walk of the true tree of prefixes.
    pub oracle: OrderFigures,
}

/// The effect of every order, and of the limit of requests in flight.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepReport {
    /// A line for each workload, seed and number of replicas.
    pub lines: Vec<SweepFigures>,
    /// A line for each workload, number of requests and seed, on four replicas.
    pub small_queues: Vec<SmallQueueFigures>,
    /// A line for each workload and seed, on one replica.
    pub limits: Vec<LimitFigures>,
    /// Two lines for each seed.
    pub outages: Vec<OutageFigures>,
    /// A line for each seed.
    pub fairness: Vec<FairnessFigures>,
    /// A line for each seed.
    pub deadlines: Vec<DeadlineFigures>,
    /// Two lines for each seed and number of replicas.
    pub forecasts: Vec<ForecastFigures>,
}

/// Runs every workload of about `requests` requests in every order, with this number of seeds.
pub fn run(requests: usize, seeds: usize) -> SweepReport {
    let (mut lines, mut limits) = (Vec::new(), Vec::new());
    for kind in Kind::ALL {
        for seed in 0..seeds as u64 {
            limits.push(limits::measure(kind, seed, &kind.generate(requests, seed)));
        }
        for (replicas, times) in FLEETS {
            for seed in 0..seeds as u64 {
                let workload = kind.generate(requests * times, seed);
                lines.push(measure(kind.name(), seed, &workload, replicas));
            }
        }
    }
    let outages = outage::measure(requests, seeds);
    let fairness = fairness::measure(requests, seeds);
    let small_queues = small_queues::measure(seeds);
    let deadlines = deadlines::measure(requests, seeds);
    let forecasts = forecasts::measure(requests, seeds);
    SweepReport { lines, small_queues, limits, outages, fairness, deadlines, forecasts }
}

fn measure(name: &'static str, seed: u64, workload: &Workload, replicas: usize) -> SweepFigures {
    let Workload { requests, cost } = workload;
    let slots = CONCURRENCY as usize;
    let in_order =
        |dispatcher: &mut dyn Dispatcher| OrderFigures::measure(name, requests, cost, replicas, dispatcher);
    SweepFigures {
        workload: name,
        seed,
        replicas,
        arrival: in_order(&mut FixedOrder::arrival(requests, replicas, slots)),
        baseline: baseline::hit_rate(workload, replicas),
        sorted_files: in_order(&mut FixedOrder::sorted_files(requests, replicas, slots)),
        sweep: in_order(&mut Swept::new(requests, replicas, Limit::Told(CONCURRENCY))),
        oracle: in_order(&mut FixedOrder::oracle(requests, cost, replicas, slots)),
    }
}

impl SweepFigures {
    fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>8} {:>4} {:>14} {:>9} {:>14} {:>14} {:>14} {:>9} {:>9}",
            "workload",
            "replicas",
            "seed",
            "arrival",
            "estimate",
            "sorted files",
            "sweep",
            "oracle",
            "x arrival",
            "of oracle"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:>8} {:>4} {:>14} {:>9.3} {:>14} {:>14} {:>14} {:>9.2} {:>9.3}",
                line.workload,
                line.replicas,
                line.seed,
                line.arrival,
                line.baseline,
                line.sorted_files,
                line.sweep,
                line.oracle,
                line.arrival.seconds / line.sweep.seconds,
                line.oracle.seconds / line.sweep.seconds
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for SweepReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        SweepFigures::write_all(&self.lines, formatter)?;
        writeln!(formatter)?;
        SmallQueueFigures::write_all(&self.small_queues, formatter)?;
        writeln!(formatter)?;
        LimitFigures::write_all(&self.limits, formatter)?;
        writeln!(formatter)?;
        OutageFigures::write_all(&self.outages, formatter)?;
        writeln!(formatter)?;
        FairnessFigures::write_all(&self.fairness, formatter)?;
        writeln!(formatter)?;
        DeadlineFigures::write_all(&self.deadlines, formatter)?;
        writeln!(formatter)?;
        ForecastFigures::write_all(&self.forecasts, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stay_together_on_four_replicas() {
        for kind in Kind::ALL {
            let line = measure(kind.name(), 0, &kind.generate(300, 0), 4);
            let (sweep, oracle, arrival) = (line.sweep.hit_rate, line.oracle.hit_rate, line.arrival.hit_rate);
            assert!(
                sweep > oracle - 0.03 && sweep > arrival,
                "{}: {sweep:.3}, oracle {oracle:.3}",
                kind.name()
            );
            assert!(
                (line.baseline - arrival).abs() < 0.04,
                "{}: {:.3} {arrival:.3}",
                kind.name(),
                line.baseline
            );
        }
    }
}
