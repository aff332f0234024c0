//! Rate limits of an engine, as hosted APIs have them.

use overnight_domain::scheduler::RateLimits;

use super::ConfigError;
use super::section::Section;

pub(super) const REQUESTS: &str = "max_requests_per_minute";
pub(super) const TOKENS: &str = "max_tokens_per_minute";

/// The limits of an engine's section; none where it has no such setting.
pub(super) fn read(section: &Section<'_>) -> Result<RateLimits, ConfigError> {
    Ok(RateLimits {
        requests_per_minute: section.integer(REQUESTS, 1..=1_000_000)?,
        tokens_per_minute: section.integer(TOKENS, 1..=10_000_000_000)?,
    })
}
