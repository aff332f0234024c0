//! Every metric, as `docs/metrics.md` lists them.

mod engines;
mod events;
mod http;
mod process;
mod requests;
mod storage;

use metrics::Unit;

#[derive(Debug, Clone, Copy)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    pub(super) unit: Unit,
    pub(super) help: &'static str,
    pub(super) labels: Labels,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// Up, from zero at the start of the process.
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    None,
    /// One label, with all of its values.
    Known(&'static str, &'static [&'static str]),
    /// The label `engine`, and one with all of its values.
    OfEngine(&'static str, &'static [&'static str]),
    /// Labels whose values come from settings or calls.
    Of(&'static [&'static str]),
}

/// A histogram, in requests.
pub(super) const RUN_LENGTH: &str = "overnight_run_length_requests";

pub(super) const ENGINE_START: &str = "overnight_engine_start_seconds";

const ENGINE: Labels = Labels::Of(&["engine"]);
const MODEL: Labels = Labels::Of(&["model"]);

const fn metric(
    name: &'static str,
    kind: MetricKind,
    unit: Unit,
    labels: Labels,
    help: &'static str,
) -> Metric {
    Metric { name, kind, unit, help, labels }
}

/// In groups by subject.
pub(super) fn all() -> impl Iterator<Item = &'static Metric> {
    let rooms = [
        requests::METRICS,
        engines::METRICS,
        events::METRICS,
        http::METRICS,
        storage::METRICS,
        process::METRICS,
    ];
    rooms.into_iter().flatten()
}
