//! How much of the service's connections, calls and memory its clients may hold.

use std::time::Duration;

use super::section::Section;
use super::{ByteSize, ConfigError, Millis};

/// The limits on connections, on calls and on what responses hold in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Connections of clients that may be open at once.
    pub max: usize,
    /// The part of them that one address may hold.
    pub per_address: usize,
    /// Calls of one account that may be under way at once, until the last byte of their responses was sent.
    pub calls_per_account: usize,
    /// Calls of one account that follow a batch at once, beside the others.
    pub followers_per_account: usize,
    /// Calls of one account that may wait at once for the ends of their requests. All accounts together: half of [`Self::max`].
    pub waiting_per_account: usize,
    /// A connection without a call is closed after so long.
    pub idle: Duration,
    /// A response of which the client takes nothing for so long is cut.
    pub stalled: Duration,
    /// Bytes that all responses together may hold in memory.
    pub response_buffer_bytes: usize,
    /// Bytes that all bodies of requests together may hold in memory until they were read.
    pub request_buffer_bytes: usize,
}

/// The part of the `[limits]` section that is about connections.
pub(super) fn read(section: &Section<'_>) -> Result<ConnectionLimits, ConfigError> {
    let count = |key| -> Result<usize, ConfigError> {
        Ok(section.required(key, section.integer(key, 1..=1_000_000_u32)?)? as usize)
    };
    let time = |key| -> Result<Duration, ConfigError> {
        let range = Millis(1_000)..=Millis(3_600_000);
        let Millis(wait) = section.required(key, section.bounded(key, range, "1s to 1h")?)?;
        Ok(Duration::from_millis(wait.unsigned_abs()))
    };
    let size = |key| -> Result<usize, ConfigError> {
        let range = ByteSize(16 << 20)..=ByteSize(1 << 40);
        let ByteSize(bytes) = section.required(key, section.bounded(key, range, "16 MiB to 1024 GiB")?)?;
        usize::try_from(bytes).map_err(|_| section.refuse(key, "is too large for this machine"))
    };
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
