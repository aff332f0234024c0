//! The limits on clients' input. Each has a default and may be set by the operator.

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The operator's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest HTTP body, or line of a bulk create, in bytes. 8 MiB.
    pub request_body_bytes: usize,
    /// The longest file of batch lines, in bytes. 512 MiB.
    pub file_bytes: usize,
    /// The longest `metadata` object, in bytes of compact JSON. 16 KiB.
    pub metadata_bytes: usize,
    /// Maximum of requests in one batch. 100,000.
    pub batch_requests: usize,
    /// Whether media parts may carry `http` and `https` URLs, which the engine then fetches. No.
    pub remote_media: bool,
    /// Fields of `request_body` that are refused unless listed here. None.
    pub allow_fields: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_body_bytes: 8 * MIB,
            file_bytes: 512 * MIB,
            metadata_bytes: 16 * KIB,
            batch_requests: 100_000,
            remote_media: false,
            allow_fields: Vec::new(),
        }
    }
}
