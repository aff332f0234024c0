//! The cost of an outage: an engine dies during its work, without a reason or from a request that kills it.

use std::fmt;

use serde::Serialize;

use super::CONCURRENCY;
use super::fleet::{self, Outcome, Trouble};
use super::swept::{Limit, Swept};
use super::workload::{Kind, Workload};

/// The duration of an outage without a reason.
const OUTAGE_US: u64 = 20_000_000;
/// The duration of a restart after a request killed the engine.
const RESTART_US: u64 = 5_000_000;

/// The cost of one outage. Seconds are virtual.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutageFigures {
    pub seed: u64,
    /// Whether a request kills the engine whenever it runs.
    pub is_poisoned: bool,
    /// Requests in flight when the engine first died.
    pub in_flight: usize,
    pub deaths: usize,
    /// From its first return until every slot was taken again, or all remaining requests were in flight.
    pub refill_seconds: f64,
    /// How long it had fewer in flight since its first return, while it ran.
    pub unfilled_seconds: f64,
    /// How long only suspects ran, with a slot free, while other work waited.
    pub isolated_seconds: f64,
    pub completed: usize,
    pub failed: usize,
    /// Until the last request ended.
    pub seconds: f64,
    /// The same without the outage.
    pub undisturbed_seconds: f64,
}

/// An engine with every slot taken dies in the middle of the questions about documents and is down for a while; then the same if one
/// request kills it.
pub(super) fn measure(requests: usize, seeds: usize) -> Vec<OutageFigures> {
    let mut lines = Vec::new();
    for seed in 0..seeds as u64 {
        let workload = Kind::DocumentQa.generate(requests, seed);
        let (undisturbed, _) = run(&workload, seed, Trouble::default());
        let dying = Trouble { dies_at_us: Some(undisturbed.us / 2), ..trouble(OUTAGE_US) };
        let poisoned = Trouble { poison: Some(workload.requests.len() / 2), ..trouble(RESTART_US) };
        for trouble in [dying, poisoned] {
            let (outcome, isolated_seconds) = run(&workload, seed, trouble);
            lines.push(OutageFigures {
                seed,
                is_poisoned: trouble.poison.is_some(),
                in_flight: outcome.lost,
                deaths: outcome.deaths,
                refill_seconds: outcome.refill_seconds.unwrap_or(f64::INFINITY),
                unfilled_seconds: outcome.unfilled_seconds,
                isolated_seconds,
                completed: outcome.completed,
                failed: outcome.failed,
                seconds: outcome.seconds,
                undisturbed_seconds: undisturbed.seconds,
            });
        }
    }
    lines
}

fn trouble(away_us: u64) -> Trouble {
    Trouble { away_us, full: CONCURRENCY as usize, ..Trouble::default() }
}

fn run(workload: &Workload, seed: u64, trouble: Trouble) -> (Outcome, f64) {
    let Workload { requests, cost } = workload;
    let mut swept = Swept::new(requests, 1, Limit::Told(CONCURRENCY)).with_seed(seed);
    let outcome = fleet::run_troubled(requests, cost, 1, trouble, &mut swept);
    (outcome, swept.isolated_seconds())
}

impl OutageFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>4} {:>9} {:>6} {:>9} {:>11} {:>14} {:>9} {:>6} {:>9} {:>11}",
            "engine that dies",
            "seed",
            "in flight",
            "deaths",
            "full in",
            "not full",
            "suspects only",
            "completed",
            "failed",
            "seconds",
            "undisturbed"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:>4} {:>9} {:>6} {:>7.1} s {:>9.1} s {:>12.1} s {:>9} {:>6} {:>7.1} s {:>9.1} s",
                if line.is_poisoned { "by a request" } else { "by nothing known" },
                line.seed,
                line.in_flight,
                line.deaths,
                line.refill_seconds,
                line.unfilled_seconds,
                line.isolated_seconds,
                line.completed,
                line.failed,
                line.seconds,
                line.undisturbed_seconds
            )?;
        }
        Ok(())
    }
}
