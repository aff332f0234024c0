//! The daily budget of an engine, as operators set it for hosted APIs.

use overnight_domain::scheduler::DailyLimits;

use super::ConfigError;
use super::section::Section;

pub(super) const REQUESTS: &str = "max_requests_per_day";
pub(super) const TOKENS: &str = "max_tokens_per_day";

/// The budget of an engine's section; none where it has no such setting.
pub(super) fn read(section: &Section<'_>) -> Result<DailyLimits, ConfigError> {
    Ok(DailyLimits {
        requests_per_day: section.integer(REQUESTS, 1..=1_000_000_000)?,
        tokens_per_day: section.integer(TOKENS, 1..=10_000_000_000_000)?,
    })
}
