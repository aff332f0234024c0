//! What one account may use, unless it has quotas of its own.

use overnight_domain::quotas::{Quota, Quotas};

use super::section::Section;
use super::{ByteSize, ConfigError};

/// The section `[quotas]`.
pub(super) fn read(section: &Section<'_>) -> Result<Quotas, ConfigError> {
    let count = |quota: Quota| -> Result<Option<i64>, ConfigError> {
        Ok(section.integer(quota.name(), 1..=u32::MAX)?.map(i64::from))
    };
    let key = Quota::StoredBytes.name();
    let range = ByteSize(1 << 20)..=ByteSize(1 << 50);
    let stored = section.bounded(key, range, "1 MiB to 1048576 GiB")?;
    Ok(Quotas::default()
        .with(Quota::StoredBytes, stored.map(|ByteSize(bytes)| bytes.cast_signed()))
        .with(Quota::LiveRequests, count(Quota::LiveRequests)?)
        .with(Quota::RequestsPerSecond, count(Quota::RequestsPerSecond)?)
        .with(Quota::TokensPerDay, count(Quota::TokensPerDay)?))
}
