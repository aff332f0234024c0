//! How Anthropic's clients are told how they stand with their rate of requests.

use overnight_wire::anthropic::times::rfc3339;

use crate::app::RateStanding;
use crate::http::dialects::Rate;

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

/// A time of day, in whole seconds and not too early.
fn write_reset(standing: &RateStanding, _: i64) -> String {
    rfc3339(standing.full_at.saturating_add(999))
}
