//! What is counted where connections, calls and responses meet their limits; `telemetry` describes it.

use metrics::{counter, gauge};

const CROWDED: &str = "overnight_http_connections_crowded_total";
const IDLE_CLOSED: &str = "overnight_http_connections_idle_closed_total";
const CUT: &str = "overnight_http_connections_cut_total";
const STALLED: &str = "overnight_http_responses_stalled_total";
const FAILED_HANDSHAKES: &str = "overnight_tls_failed_handshakes_total";
const CALLS_REFUSED: &str = "overnight_http_calls_over_share_total";
const FOLLOWERS: &str = "overnight_http_followers";
const FOLLOWED_PAGES: &str = "overnight_http_followed_pages_total";
const WAITING: &str = "overnight_http_waiting_calls";
const WRONG_KEYS: &str = "overnight_http_wrong_keys_throttled_total";
/// The gauge of memory of responses.
pub(super) const RESPONSES: &str = "overnight_http_response_buffer_bytes";
/// The gauge of memory of bodies of requests.
pub(super) const REQUESTS: &str = "overnight_http_request_buffer_bytes";

/// Shows what goes up and down as zero before it does.
pub(super) fn begin_gauges() {
    for name in [FOLLOWERS, WAITING, RESPONSES, REQUESTS] {
        gauge!(name).increment(0.0);
    }
}

/// Counts a connection over the limit.
pub(super) fn count_crowded(limit: &'static str) {
    counter!(CROWDED, "limit" => limit).increment(1);
}

/// Counts a connection that was closed because it had no call, for too long or when another needed its permit.
pub(super) fn count_idle_closed(why: &'static str) {
    counter!(IDLE_CLOSED, "why" => why).increment(1);
}

/// Counts a connection that made room for another though it had calls, none of them with a key.
pub(super) fn count_cut() {
    counter!(CUT).increment(1);
}

/// Counts a connection or a stream that was cut because its client took nothing.
pub(super) fn count_stalled(what: &'static str) {
    counter!(STALLED, "cut" => what).increment(1);
}

/// Counts a connection that ended before it had TLS.
pub(super) fn count_failed_handshake() {
    counter!(FAILED_HANDSHAKES).increment(1);
}

/// Counts a call that was refused because its client has its share.
pub(super) fn count_over_share(share: &'static str) {
    counter!(CALLS_REFUSED, "share" => share).increment(1);
}

/// Counts a call that follows a batch, or does no longer.
pub(super) fn count_followers(more: f64) {
    gauge!(FOLLOWERS).increment(more);
}

/// Counts a page that was read for those who follow.
pub(super) fn count_followed_page(reader: &'static str) {
    counter!(FOLLOWED_PAGES, "reader" => reader).increment(1);
}

/// Counts a call whose key was not read because its network brought too many wrong ones.
pub(super) fn count_wrong_key_throttled() {
    counter!(WRONG_KEYS).increment(1);
}

/// Counts calls that begin to wait for the ends of their requests, or no longer do.
pub(super) fn count_waiting(more: f64) {
    gauge!(WAITING).increment(more);
}

/// Counts bytes that are held, or no longer are, in [`RESPONSES`] or [`REQUESTS`].
pub(super) fn count_memory(buffer: &'static str, more: f64) {
    gauge!(buffer).increment(more);
}
