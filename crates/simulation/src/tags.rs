//! How clients tell what they sent apart.

/// The number under which the client knows a request or a batch before the service names it.
pub(super) type Tag = u64;
