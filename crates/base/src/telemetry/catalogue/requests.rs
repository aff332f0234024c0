//! Metrics of requests, and of the program itself.

use metrics::Unit;

use super::MetricKind::{Counter, Gauge};
use super::{Labels, MODEL, Metric, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_build_info",
        Gauge,
        Unit::Count,
        Labels::Of(&["version"]),
        "1; the version of the program is its label.",
    ),
    metric(
        "overnight_requests_accepted_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Requests accepted by this node: stored, and answered with 201 or its like.",
    ),
    metric(
        "overnight_requests_ended_total",
        Counter,
        Unit::Count,
        Labels::Known("outcome", &["completed", "failed", "cancelled"]),
        "Requests ended by this node, by outcome. Expired ones failed.",
    ),
    metric(
        "overnight_requests_expired_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Requests that failed because their completion window was over.",
    ),
    metric(
        "overnight_requests_deleted_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Requests deleted because their retention was over.",
    ),
    metric(
        "overnight_requests_waiting",
        Gauge,
        Unit::Count,
        MODEL,
        "Requests that wait in the queue, by model. Every node shows those of the whole service; where several share a database, as of some seconds ago.",
    ),
    metric(
        "overnight_requests_without_model",
        Gauge,
        Unit::Count,
        Labels::None,
        "Requests that wait for a model that the settings of this node do not name: they expire. Counted every 10 s.",
    ),
    metric(
        "overnight_requests_due_first",
        Gauge,
        Unit::Count,
        MODEL,
        "Of the requests that wait, those that go first because of their deadlines.",
    ),
    metric(
        "overnight_deadline_slack_seconds",
        Gauge,
        Unit::Seconds,
        Labels::None,
        "Seconds to the earliest deadline of all requests of the service that have not ended; NaN if there is none. Measured every 10 s.",
    ),
    metric(
        "overnight_attempts_failed_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Attempts that failed: dispatches of a request to an engine without a completion.",
    ),
    metric(
        "overnight_quota_exceeded_total",
        Counter,
        Unit::Count,
        Labels::Known("quota", &["stored_bytes", "live_requests", "requests_per_second", "tokens_per_day"]),
        "Requests and batches refused by a quota, by its name.",
    ),
    metric(
        "overnight_idempotent_replays_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Calls that an idempotency key made repeats: answered as the first, and not done again.",
    ),
];
