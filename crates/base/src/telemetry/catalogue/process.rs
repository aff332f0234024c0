//! Metrics of the process: its log and its loops.

use metrics::Unit;

use super::MetricKind::Counter;
use super::{Labels, Metric, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_log_lines_dropped_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Log lines dropped because they could not be written: the reader has gone or stopped, or the disk is full.",
    ),
    metric(
        "overnight_clock_jumps_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Jumps of the machine's clock by more than two seconds, and times that the machine slept. The log has their sizes.",
    ),
    metric(
        "overnight_panics_total",
        Counter,
        Unit::Count,
        Labels::Of(&["loop"]),
        "Panics, by the loop that handled the item. Each is a bug; the log names the item and the place in the code.",
    ),
];
