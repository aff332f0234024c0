//! The service of a light account next to a heavy one, and its cost.

use std::fmt;

use serde::Serialize;

use super::CONCURRENCY;
use super::fleet::{self, Dispatcher, Event, Work};
use super::swept::{Limit, Swept};
use super::workload::{Kind, Request, Workload};

/// The size of the heavy account's work, as a multiple of the light one's.
const TIMES: usize = 10;
const LIGHT: i64 = 2;

/// Questions about documents of two accounts on one replica. Seconds are virtual.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FairnessFigures {
    pub seed: u64,
    /// The duration of the light account's work without the heavy one.
    pub alone_seconds: f64,
    /// Until the light account is done, next to the heavy one.
    pub beside_seconds: f64,
    /// Until both are done.
    pub both_seconds: f64,
    /// Until both are done, one after the other.
    pub in_turn_seconds: f64,
}

/// The service's order, and the end of the light account's work.
struct Watched<'a> {
    requests: &'a [Request],
    swept: Swept,
    done_us: u64,
}

impl Dispatcher for Watched<'_> {
    fn on(&mut self, event: Event, now_us: u64) -> Vec<Work> {
        if let Event::Completed { request, .. } = event
            && self.requests[request].account == LIGHT
        {
            self.done_us = now_us;
        }
        self.swept.on(event, now_us)
    }
}

/// Runs both accounts with this number of seeds.
pub(super) fn measure(requests: usize, seeds: usize) -> Vec<FairnessFigures> {
    (0..seeds as u64).map(|seed| measure_one(requests, seed)).collect()
}

fn measure_one(requests: usize, seed: u64) -> FairnessFigures {
    let heavy = Kind::DocumentQa.generate(requests, seed);
    let mut light = Kind::DocumentQa.generate(requests / TIMES, seed + 1_000);
    light.requests.iter_mut().for_each(|request| request.account = LIGHT);
    let (heavy_seconds, _) = run(&heavy);
    let (alone_seconds, _) = run(&light);
    let Workload { requests: mut both, cost } = heavy;
    both.extend(light.requests);
    let (both_seconds, beside_seconds) = run(&Workload { requests: both, cost });
    let in_turn_seconds = heavy_seconds + alone_seconds;
    FairnessFigures { seed, alone_seconds, beside_seconds, both_seconds, in_turn_seconds }
}

/// The end of all work, and of the light account's.
fn run(workload: &Workload) -> (f64, f64) {
    let Workload { requests, cost } = workload;
    let swept = Swept::new(requests, 1, Limit::Told(CONCURRENCY));
    let mut watched = Watched { requests, swept, done_us: 0 };
    let outcome = fleet::run(requests, cost, 1, &mut watched);
    (outcome.seconds, watched.done_us as f64 / 1e6)
}

impl FairnessFigures {
    pub(super) fn write_all(lines: &[Self], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<22} {:>4} {:>9} {:>9} {:>14} {:>9} {:>9} {:>9}",
            "a light account", "seed", "alone", "beside", "of half engine", "both", "in turn", "cost"
        )?;
        for line in lines {
            writeln!(
                formatter,
                "{:<22} {:>4} {:>7.1} s {:>7.1} s {:>14.2} {:>7.1} s {:>7.1} s {:>9.3}",
                "beside a heavy one",
                line.seed,
                line.alone_seconds,
                line.beside_seconds,
                line.beside_seconds / (2.0 * line.alone_seconds),
                line.both_seconds,
                line.in_turn_seconds,
                line.both_seconds / line.in_turn_seconds
            )?;
        }
        Ok(())
    }
}
