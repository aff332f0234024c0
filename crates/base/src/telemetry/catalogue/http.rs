//! Metrics of connections and calls.

use metrics::Unit;

use super::MetricKind::{Counter, Gauge, Histogram};
use super::{Labels, Metric, metric};

pub(super) const METRICS: &[Metric] = &[
    metric(
        "overnight_http_requests_total",
        Counter,
        Unit::Count,
        Labels::Of(&["route", "method", "status"]),
        "Calls answered, by route, method and status.",
    ),
    metric(
        "overnight_http_request_duration_seconds",
        Histogram,
        Unit::Seconds,
        Labels::Of(&["route", "method"]),
        "Seconds from a call's head to the head of its answer.",
    ),
    metric(
        "overnight_http_connections",
        Gauge,
        Unit::Count,
        Labels::None,
        "Connections of clients that are open.",
    ),
    metric(
        "overnight_http_connections_crowded_total",
        Counter,
        Unit::Count,
        Labels::Known("limit", &["address", "process"]),
        "Connections over a limit, of the process or of an address.",
    ),
    metric(
        "overnight_http_connections_idle_closed_total",
        Counter,
        Unit::Count,
        Labels::Known("why", &["idle", "displaced"]),
        "Connections without a call that were closed: idle, or displaced by another.",
    ),
    metric(
        "overnight_http_connections_cut_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Connections with calls, none of them with an API key, that made room for another.",
    ),
    metric(
        "overnight_http_connections_flooded_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Connections that were cut because the client sent too many bytes without a call.",
    ),
    metric(
        "overnight_http_responses_stalled_total",
        Counter,
        Unit::Count,
        Labels::Known("cut", &["connection", "stream"]),
        "Responses of which the client took nothing for too long, by what was cut.",
    ),
    metric(
        "overnight_http_calls_over_share_total",
        Counter,
        Unit::Count,
        Labels::Known("share", &["calls", "waiting", "followers", "bulk", "memory"]),
        "Calls refused by the share of an account or address, by what is shared: calls, waiting calls, followers, bulk creates, memory.",
    ),
    metric(
        "overnight_tls_certificate_expiry_timestamp_seconds",
        Gauge,
        Unit::Seconds,
        Labels::None,
        "When the certificate of `[tls]` ends, in seconds since 1970. Absent without one.",
    ),
    metric(
        "overnight_tls_failed_handshakes_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Connections that broke in the handshake of TLS, for example because the client does not trust the certificate.",
    ),
    metric(
        "overnight_tls_handshakes_throttled_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Handshakes of TLS that waited because their network began too many.",
    ),
    metric(
        "overnight_http_waiting_calls",
        Gauge,
        Unit::Count,
        Labels::None,
        "Calls that wait for the ends of their requests.",
    ),
    metric(
        "overnight_http_followers",
        Gauge,
        Unit::Count,
        Labels::None,
        "Calls that follow the results of a batch.",
    ),
    metric(
        "overnight_http_followed_pages_total",
        Counter,
        Unit::Count,
        Labels::Known("reader", &["shared", "own"]),
        "Pages read for followers: `shared` for all of a batch, `own` for one that was behind.",
    ),
    metric(
        "overnight_http_wrong_keys_throttled_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Calls refused because their network brought too many wrong API keys.",
    ),
    metric(
        "overnight_http_response_buffer_bytes",
        Gauge,
        Unit::Bytes,
        Labels::None,
        "Bytes that responses hold of the memory for them.",
    ),
    metric(
        "overnight_http_request_buffer_bytes",
        Gauge,
        Unit::Bytes,
        Labels::None,
        "Bytes that bodies of requests hold of the memory for them.",
    ),
    metric(
        "overnight_sign_ins_throttled_total",
        Counter,
        Unit::Count,
        Labels::None,
        "Sign-ins to the console that were delayed or refused because many failed before.",
    ),
];
