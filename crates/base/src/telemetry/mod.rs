//! The metrics of the process, for Prometheus. They name no account.

mod catalogue;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use metrics::{Label, counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use self::catalogue::{ENGINE_START, Labels, Metric, MetricKind, RUN_LENGTH};

const BUCKETS: [f64; 13] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Up to the longest run.
const RUN_BUCKETS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Up to half an hour, which a large model may take to load from a slow disk.
const START_BUCKETS: [f64; 9] = [1.0, 3.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0];

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// The process's one recorder, installed on first use.
fn recorder() -> &'static PrometheusHandle {
    RECORDER.get_or_init(|| {
        let builder = PrometheusBuilder::new();
        let recorder = builder
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKETS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full(RUN_LENGTH.to_owned()), &RUN_BUCKETS)
            })
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full(ENGINE_START.to_owned()), &START_BUCKETS)
            })
            .unwrap_or_else(|_| PrometheusBuilder::new())
            .build_recorder();
        let handle = recorder.handle();
        // If a host program has its own recorder, the figures go there, and ours shows none.
        let _ = metrics::set_global_recorder(recorder);
        catalogue::all().for_each(begin);
        gauge!("overnight_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        handle
    })
}

/// Describes a metric. A counter whose labels have known values starts at zero now: `increase()` of Prometheus misses the event that
/// creates a counter.
fn begin(metric: &Metric) {
    let Metric { name, kind, unit, help, labels } = *metric;
    match kind {
        MetricKind::Counter => describe_counter!(name, unit, help),
        MetricKind::Gauge => describe_gauge!(name, unit, help),
        MetricKind::Histogram => describe_histogram!(name, unit, help),
    }
    match (kind, labels) {
        (MetricKind::Counter, Labels::None) => counter!(name).increment(0),
        (MetricKind::Counter, Labels::Known(label, values)) => {
            for value in values {
                counter!(name, label => *value).increment(0);
            }
        }
        _ => {}
    }
}

/// Starts recording. Programs call it before anything is counted: earlier figures are lost.
pub fn install() {
    recorder();
}

/// Starts the counters of an engine at zero, before their first events.
pub fn begin_engine(engine: &str) {
    for metric in catalogue::all().filter(|metric| metric.kind == MetricKind::Counter) {
        let name = metric.name;
        let of_engine = || Label::new("engine", engine.to_owned());
        match metric.labels {
            Labels::Of(["engine"]) => counter!(name, vec![of_engine()]).increment(0),
            Labels::OfEngine(label, values) => {
                for value in values {
                    counter!(name, vec![of_engine(), Label::new(label, *value)]).increment(0);
                }
            }
            _ => {}
        }
    }
}

/// Compacts recorded figures; to be called now and then, whether they are read or not.
pub fn tidy_up() {
    recorder().run_upkeep();
}

/// In the Prometheus text format.
pub fn render() -> String {
    recorder().render()
}
