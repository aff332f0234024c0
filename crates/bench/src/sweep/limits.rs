//! The cost of an unknown limit of an engine's concurrent requests.

use std::fmt;

use serde::Serialize;

use super::fleet::{self, Outcome};
use super::swept::{Limit, Swept};
use super::workload::{Kind, Workload};

/// The candidates for the best limit.
const SET: [u32; 8] = [16, 32, 64, 96, 128, 192, 256, 384];

/// One workload on one replica under fixed limits and automatic limits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitFigures {
    pub workload: &'static str,
    pub seed: u64,
    /// The fastest fixed limit.
    pub best: u32,
    /// Virtual seconds with that limit.
    pub best_seconds: f64,
    /// Virtual seconds if the engine reports its load.
    pub told_seconds: f64,
    /// The mean number of requests that waited in the engine then.
    pub told_waiting: f64,
    /// Virtual seconds if the engine reports nothing.
    pub silent_seconds: f64,
}

pub(super) fn measure(kind: Kind, seed: u64, workload: &Workload) -> LimitFigures {
    let under = |limit| -> Outcome {
        let Workload { requests, cost } = workload;
        fleet::run(requests, cost, 1, &mut Swept::new(requests, 1, limit))
    };
    let seconds = |set: u32| (under(Limit::Told(set)).seconds, set);
    let (best_seconds, best) =
        SET.map(seconds).into_iter().min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or_default();
    let told = under(Limit::Untold { tells_load: true });
    LimitFigures {
        workload: kind.name(),
        seed,
        best,
        best_seconds,
        told_seconds: told.seconds,
        told_waiting: told.waiting,
        silent_seconds: under(Limit::Untold { tells_load: false }).seconds,
    }
}

impl LimitFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>4} {:>18} {:>18} {:>8} {:>10} {:>18}",
            "limit that finds itself",
            "seed",
            "best limit",
            "load is told",
            "of best",
            "waiting",
            "nothing is told"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<23} {:>4} {:>10.1} s ({:>3}) {:>16.1} s {:>8.3} {:>10.1} {:>8.1} s ({:.3})",
                line.workload,
                line.seed,
                line.best_seconds,
                line.best,
                line.told_seconds,
                line.best_seconds / line.told_seconds,
                line.told_waiting,
                line.silent_seconds,
                line.best_seconds / line.silent_seconds
            )?;
        }
        Ok(())
    }
}
