//! Limits of what clients send and use, and of their connections, calls and memory.

use std::time::Duration;

use overnight_domain::limits::Limits;
use overnight_domain::quotas::{Quota, Quotas};

use super::section::Section;
use super::values::{flag, integer, texts, within};
use super::{ByteSize, Millis, Read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Open connections of clients.
    pub max: usize,
    pub per_address: usize,
    /// Concurrent calls of one account, until the last byte of their responses was sent.
    pub calls_per_account: usize,
    /// Concurrent calls of one account that follow a batch, not counted in `calls_per_account`.
    pub followers_per_account: usize,
    /// Concurrent calls of one account that wait for the ends of their requests. All accounts together: half of [`Self::max`].
    pub waiting_per_account: usize,
    /// Until a connection without a call is closed.
    pub idle: Duration,
    /// Time without a read by the client after which a response is cut off.
    pub stalled: Duration,
    pub response_buffer_bytes: usize,
    /// Memory of all request bodies until they are read.
    pub request_buffer_bytes: usize,
}

/// The limits on what clients send, in the `[limits]` section.
pub(super) fn read(section: &Section<'_>) -> Read<Limits> {
    let size = |key| section.get(key, within("1 KiB to 1 GiB")).map(ByteSize::in_memory);
    let limits = Limits {
        request_body_bytes: size("request_body")?,
        file_bytes: size("file")?,
        metadata_bytes: size("metadata")?,
        batch_requests: section.get("batch_requests", integer(1..=1_000_000))?,
        remote_media: section.get("remote_media", flag)?,
        allow_fields: section.get("allow_fields", texts)?,
    };
    let is_larger = limits.metadata_bytes > limits.request_body_bytes;
    section.forbid("metadata", is_larger.then_some("must not be larger than `limits.request_body`"))?;
    Ok(limits)
}

/// The limits on connections, in the `[limits]` section.
pub(super) fn connections(section: &Section<'_>) -> Read<ConnectionLimits> {
    let count = |key| section.get(key, integer(1..=1_000_000));
    let time = |key| {
        let wait = section.get(key, within("1s to 1h"));
        wait.map(|Millis(wait)| Duration::from_millis(wait.unsigned_abs()))
    };
    let size = |key| section.get(key, within("16 MiB to 1024 GiB")).map(ByteSize::in_memory);
    Ok(ConnectionLimits {
        max: count("connections")?,
        per_address: count("connections_per_address")?,
        calls_per_account: count("calls_per_account")?,
        followers_per_account: count("followers_per_account")?,
        waiting_per_account: count("waiting_calls_per_account")?,
        idle: time("idle_connection")?,
        stalled: time("stalled_response")?,
        response_buffer_bytes: size("response_buffer")?,
        request_buffer_bytes: size("request_buffer")?,
    })
}

/// The quotas of accounts without their own.
pub(super) fn quotas(section: &Section<'_>) -> Read<Quotas> {
    let mut quotas = Quotas::default();
    for quota in Quota::ALL {
        let most = if quota == Quota::StoredBytes {
            let size = section.find(quota.name(), within("1 MiB to 1048576 GiB"))?;
            size.map(|ByteSize(bytes)| bytes.cast_signed())
        } else {
            section.find(quota.name(), integer(1..=i64::from(u32::MAX)))?
        };
        quotas = quotas.with(quota, most);
    }
    Ok(quotas)
}
