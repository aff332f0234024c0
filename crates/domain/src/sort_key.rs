//! The order in which the queue is swept: requests that share a prompt prefix share the first bytes of their key.

/// A place in the sweep's order: at most 64 bytes, compared byte by byte.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortKey(Box<[u8]>);

impl SortKey {
    /// The most bytes a key has.
    pub const MAX_BYTES: usize = 64;

    /// The key stored as `bytes`; what is past [`SortKey::MAX_BYTES`] is left out.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes[..bytes.len().min(Self::MAX_BYTES)].into())
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
