//! Compares virtual time with HTTP.

use std::fmt;

use serde::Serialize;

use crate::sweep::OrderFigures;

/// Three orders, measured one way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WayFigures {
    pub arrival: OrderFigures,
    /// The service's own order.
    pub sweep: OrderFigures,
    /// A depth-first walk of the true tree of prefixes.
    pub oracle: OrderFigures,
}

/// One workload on one number of replicas, both ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpFigures {
    pub workload: &'static str,
    pub seed: u64,
    pub replicas: usize,
    /// The scheduler and the engines in virtual time.
    pub virtual_time: WayFigures,
    /// The service and the engines on sockets; seconds of the engines' time.
    pub http: WayFigures,
}

/// The effect of every order, both ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpReport {
    /// The speed of the engines' time, as a multiple of the clock's.
    pub time_scale: f64,
    /// A line for each number of replicas, workload and seed.
    pub lines: Vec<HttpFigures>,
}

impl WayFigures {
    fn orders(&self) -> [OrderFigures; 3] {
        [self.arrival, self.sweep, self.oracle]
    }

    /// The speed of the sweep, as a multiple of order of arrival.
    pub fn times_arrival(&self) -> f64 {
        self.arrival.seconds / self.sweep.seconds
    }

    /// The speed of the sweep, as a share of the oracle.
    pub fn of_oracle(&self) -> f64 {
        self.oracle.seconds / self.sweep.seconds
    }

    fn write(&self, way: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{way:<8}")?;
        for order in self.orders() {
            write!(formatter, " {:>16}", format!("{:.1} s ({:.3})", order.seconds, order.hit_rate))?;
        }
        writeln!(formatter, " {:>9.2} {:>9.3}", self.times_arrival(), self.of_oracle())
    }
}

impl HttpFigures {
    /// HTTP compared with virtual time: points of the hit rate of every order, and percent of the sweep's gain.
    fn write_difference(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, other) = (&self.virtual_time, &self.http);
        write!(formatter, "{:<8}", "differ")?;
        for (one, other) in one.orders().into_iter().zip(other.orders()) {
            let points = (other.hit_rate - one.hit_rate) * 100.0;
            write!(formatter, " {:>16}", format!("{points:+.1} points"))?;
        }
        let percent = |one: f64, other: f64| format!("{:+.1} %", (other / one - 1.0) * 100.0);
        let times_arrival = percent(one.times_arrival(), other.times_arrival());
        let of_oracle = percent(one.of_oracle(), other.of_oracle());
        writeln!(formatter, " {times_arrival:>9} {of_oracle:>9}")
    }
}

impl fmt::Display for HttpReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "over HTTP the engines' time runs {} times faster than the clock",
            self.time_scale
        )?;
        writeln!(
            formatter,
            "{:<22} {:>8} {:>4} {:<8} {:>16} {:>16} {:>16} {:>9} {:>9}",
            "workload", "replicas", "seed", "way", "arrival", "sweep", "oracle", "x arrival", "of oracle"
        )?;
        for line in &self.lines {
            write!(formatter, "{:<22} {:>8} {:>4} ", line.workload, line.replicas, line.seed)?;
            line.virtual_time.write("virtual", formatter)?;
            write!(formatter, "{:<36} ", "")?;
            line.http.write("HTTP", formatter)?;
            write!(formatter, "{:<36} ", "")?;
            line.write_difference(formatter)?;
        }
        Ok(())
    }
}
