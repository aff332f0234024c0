//! The rate-limit headers for Anthropic's clients.

use overnight_app::RateStanding;
use overnight_wire::anthropic::times::rfc3339;

use crate::dialects::Rate;

/// The call that creates a request, and the headers of its answer.
pub(super) const RATE: Rate = Rate {
    paths: &["/anthropic/v1/messages"],
    headers: [
        "anthropic-ratelimit-requests-limit",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-requests-reset",
    ],
    write_reset,
};

/// An RFC 3339 time in whole seconds, rounded up.
fn write_reset(standing: &RateStanding, _: i64) -> String {
    rfc3339(standing.full_at.saturating_add(999))
}
