//! The table of calls and sizes.

use std::fmt;

use serde::Serialize;

/// A call may cost this many times what it costs at the smallest size.
const RATIO_MAX: f64 = 1.5;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthReport {
    pub benchmark: String,
    /// The requests in the store, smallest first.
    pub sizes: Vec<usize>,
    pub rows: Vec<Row>,
}

/// A call, with what it costs at each size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    pub call: String,
    pub unit: &'static str,
    pub costs: Vec<f64>,
    /// The largest cost divided by that at the smallest size.
    pub ratio: f64,
    /// Whether the cost of the call grows with the store more than it may.
    pub grows: bool,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    sizes: Vec<usize>,
    rows: Vec<(String, &'static str, Vec<f64>)>,
}

impl Table {
    /// What is noted from now on is measured at this size.
    pub(super) fn begin(&mut self, size: usize) {
        self.sizes.push(size);
    }

    pub(super) fn note(&mut self, call: impl Into<String>, unit: &'static str, cost: f64) {
        let call = call.into();
        match self.rows.iter_mut().find(|row| row.0 == call) {
            Some((_, _, costs)) => costs.push(cost),
            None => self.rows.push((call, unit, vec![cost])),
        }
    }

    pub(super) fn report(self, benchmark: String) -> GrowthReport {
        let rows = self.rows.into_iter().map(|(call, unit, costs)| {
            let smallest = costs.first().copied().unwrap_or(f64::NAN);
            let ratio = costs.iter().copied().fold(f64::NAN, f64::max) / smallest;
            Row { call, unit, costs, ratio, grows: ratio > RATIO_MAX }
        });
        GrowthReport { benchmark, sizes: self.sizes, rows: rows.collect() }
    }
}

impl GrowthReport {
    /// Whether a call costs more than 1.5 times what it costs at the smallest size.
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
        writeln!(formatter, "         ratio")?;
        for Row { call, unit, costs, ratio, grows } in &self.rows {
            write!(formatter, "  {call:<44}")?;
            for cost in costs {
                let digits = if *cost < 100.0 { 1 } else { 0 };
                write!(formatter, " {cost:>10.digits$}")?;
            }
            let mark = if *grows { "  grows" } else { "" };
            writeln!(formatter, " {unit} {ratio:>10.2}{mark}")?;
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
        for (size, get, list) in [(10, 4.0, 4.0), (100, 7.0, 5.0), (1_000, 5.0, 6.0)] {
            table.begin(size);
            table.note("get", "us", get);
            table.note("list", "us", list);
        }
        let report = table.report("growth".to_owned());
        let of =
            |call: &str| report.rows.iter().find(|row| row.call == call).map(|row| (row.ratio, row.grows));
        assert_eq!(of("get"), Some((1.75, true)));
        assert_eq!(of("list"), Some((1.5, false)));
        assert!(report.grows());
    }
}
