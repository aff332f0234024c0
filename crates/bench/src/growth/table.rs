//! The table of calls and sizes.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// The most that a cost may be, divided by that at the smallest size.
const RATIO_MAX: f64 = 1.5;
/// The system counts CPU time in steps of 10 ms. A difference of this many steps is not growth.
const STEPS: f64 = 3.0;
const STEP_US: f64 = 10_000.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthReport {
    pub benchmark: String,
    /// The requests in the store, smallest first.
    pub sizes: Vec<usize>,
    pub rows: Vec<Row>,
}

/// A call, with its cost at each size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub call: String,
    /// Microseconds of CPU.
    pub costs: Vec<f64>,
    /// The largest cost divided by that at the smallest size.
    pub ratio: f64,
    /// Whether the cost of the call grows with the store more than it may.
    pub grows: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    sizes: Vec<usize>,
    rows: Vec<Noted>,
}

#[derive(Debug)]
struct Noted {
    call: String,
    /// Calls of a measurement.
    calls: usize,
    reads_all: bool,
    costs: Vec<f64>,
}

impl Table {
    /// Begins the notes of a size.
    pub(super) fn begin(&mut self, size: usize) {
        self.sizes.push(size);
    }

    /// Notes the cost of a call, by the CPU time of all `calls`.
    pub(super) fn note(&mut self, call: impl Into<String>, calls: usize, used: Duration) {
        self.add(call.into(), calls, used, false);
    }

    /// Notes the cost of each of `requests`, of which a command reads all.
    pub(super) fn note_of_all(&mut self, call: &str, requests: usize, used: Duration) {
        self.add(call.to_owned(), requests, used, true);
    }

    fn add(&mut self, call: String, calls: usize, used: Duration, reads_all: bool) {
        let cost = used.as_secs_f64() * 1e6 / calls.max(1) as f64;
        match self.rows.iter_mut().find(|row| row.call == call) {
            Some(row) => row.costs.push(cost),
            None => self.rows.push(Noted { call, calls, reads_all, costs: vec![cost] }),
        }
    }

    pub(super) fn report(self, benchmark: String) -> GrowthReport {
        let rows = self.rows.into_iter().map(|Noted { call, calls, reads_all, costs }| {
            let smallest = costs.first().copied().unwrap_or(f64::NAN);
            let largest = costs.iter().copied().fold(f64::NAN, f64::max);
            let most = RATIO_MAX * smallest + STEPS * STEP_US / calls.max(1) as f64;
            let grows = !reads_all && largest > most;
            Row { call, costs, ratio: largest / smallest, grows }
        });
        GrowthReport { benchmark, sizes: self.sizes, rows: rows.collect() }
    }
}

impl GrowthReport {
    /// Whether a call costs more than 1.5 times as much as at the smallest size.
    pub fn grows(&self) -> bool {
        self.rows.iter().any(|row| row.grows)
    }
}

impl fmt::Display for GrowthReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.benchmark)?;
        write!(formatter, "  {:<44}", "requests in the store")?;
        for size in &self.sizes {
            write!(formatter, " {size:>10}")?;
        }
        writeln!(formatter, "      ratio")?;
        for Row { call, costs, ratio, grows } in &self.rows {
            write!(formatter, "  {call:<44}")?;
            for cost in costs {
                let digits = if *cost < 100.0 { 1 } else { 0 };
                write!(formatter, " {cost:>10.digits$}")?;
            }
            let mark = if *grows { "  grows" } else { "" };
            writeln!(formatter, " {ratio:>10.2}{mark}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_grows_if_it_costs_more_than_half_as_much_again_as_at_the_smallest_size() {
        let mut table = Table::default();
        for (size, get, list, start) in [(10, 400, 400, 10), (100, 700, 500, 40), (1_000, 500, 600, 20)] {
            table.begin(size);
            table.note("get", 1_000, Duration::from_millis(get));
            table.note("list", 1_000, Duration::from_millis(list));
            table.note("start", 1, Duration::from_millis(start));
        }
        let report = table.report("growth".to_owned());
        let of =
            |call: &str| report.rows.iter().find(|row| row.call == call).map(|row| (row.ratio, row.grows));
        assert_eq!(of("get"), Some((1.75, true)));
        assert_eq!(of("list"), Some((1.5, false)));
        assert_eq!(of("start"), Some((4.0, false)), "few steps of the system's count are no growth");
        assert!(report.grows());
    }
}
