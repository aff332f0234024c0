//! The rate-limit headers for OpenAI's clients.

use overnight_app::RateStanding;

use crate::dialects::Rate;

/// The calls that create a request, and the headers of their answers.
pub(super) const RATE: Rate = Rate {
    paths: &[
        "/openai/v1/chat/completions",
        "/openai/v1/completions",
        "/openai/v1/embeddings",
        "/openai/v1/responses",
    ],
    headers: ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
    write_reset,
};

/// A duration, such as `250ms` or `3s`.
fn write_reset(standing: &RateStanding, now: i64) -> String {
    match standing.full_at.saturating_sub(now).max(0).unsigned_abs() {
        short @ ..1_000 => format!("{short}ms"),
        long => format!("{}s", long.div_ceil(1_000)),
    }
}
