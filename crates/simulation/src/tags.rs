//! Tags by which clients identify what they sent.

/// The number by which the client knows a request or a batch before the service names it.
pub(super) type Tag = u64;
