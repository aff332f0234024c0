//! Counters of connections, calls and responses that reach limits; `telemetry` describes them.

use metrics::{counter, gauge};

const CROWDED: &str = "overnight_http_connections_crowded_total";
const IDLE_CLOSED: &str = "overnight_http_connections_idle_closed_total";
const CUT: &str = "overnight_http_connections_cut_total";
const FLOODED: &str = "overnight_http_connections_flooded_total";
const STALLED: &str = "overnight_http_responses_stalled_total";
const FAILED_HANDSHAKES: &str = "overnight_tls_failed_handshakes_total";
const HANDSHAKES_THROTTLED: &str = "overnight_tls_handshakes_throttled_total";
const CALLS_REFUSED: &str = "overnight_http_calls_over_share_total";
const FOLLOWERS: &str = "overnight_http_followers";
const FOLLOWED_PAGES: &str = "overnight_http_followed_pages_total";
const WAITING: &str = "overnight_http_waiting_calls";
const WRONG_KEYS: &str = "overnight_http_wrong_keys_throttled_total";
/// The gauge of response memory.
pub(super) const RESPONSES: &str = "overnight_http_response_buffer_bytes";
/// The gauge of request body memory.
pub(super) const REQUESTS: &str = "overnight_http_request_buffer_bytes";

/// Creates the gauges with the value 0.
pub(super) fn begin_gauges() {
    for name in [FOLLOWERS, WAITING, RESPONSES, REQUESTS] {
        gauge!(name).increment(0.0);
    }
}

/// A connection exceeded a limit.
pub(super) fn count_crowded(limit: &'static str) {
    counter!(CROWDED, "limit" => limit).increment(1);
}

/// A connection without a call was closed, after too long or because another needed its permit.
pub(super) fn count_idle_closed(why: &'static str) {
    counter!(IDLE_CLOSED, "why" => why).increment(1);
}

/// A connection made room although it had calls, none of them with a key.
pub(super) fn count_cut() {
    counter!(CUT).increment(1);
}

/// A connection was cut because its client sent much that belongs to no call.
pub(super) fn count_flooded() {
    counter!(FLOODED).increment(1);
}

/// A connection or stream was cut because its client accepted no bytes.
pub(super) fn count_stalled(what: &'static str) {
    counter!(STALLED, "cut" => what).increment(1);
}

/// A connection ended before its TLS handshake.
pub(super) fn count_failed_handshake() {
    counter!(FAILED_HANDSHAKES).increment(1);
}

/// A TLS handshake waited because its network began many.
pub(super) fn count_handshake_throttled() {
    counter!(HANDSHAKES_THROTTLED).increment(1);
}

/// A call was refused because its client has used its share.
pub(super) fn count_over_share(share: &'static str) {
    counter!(CALLS_REFUSED, "share" => share).increment(1);
}

/// Calls that follow a batch, as a difference.
pub(super) fn count_followers(more: f64) {
    gauge!(FOLLOWERS).increment(more);
}

/// A page was read for followers.
pub(super) fn count_followed_page(reader: &'static str) {
    counter!(FOLLOWED_PAGES, "reader" => reader).increment(1);
}

/// A key was not looked up because its network sent too many wrong ones.
pub(super) fn count_wrong_key_throttled() {
    counter!(WRONG_KEYS).increment(1);
}

/// Calls that wait for the ends of their requests, as a difference.
pub(super) fn count_waiting(more: f64) {
    gauge!(WAITING).increment(more);
}

/// Bytes held in [`RESPONSES`] or [`REQUESTS`], as a difference.
pub(super) fn count_memory(buffer: &'static str, more: f64) {
    gauge!(buffer).increment(more);
}
