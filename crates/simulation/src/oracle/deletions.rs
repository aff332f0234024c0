//! What clients know of the deletion of a request or a batch.

/// How far a deletion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// Nobody asked for one.
    None,
    /// It was asked for, and nobody knows what became of it.
    Sent,
    /// It is gone, for good.
    Gone,
}

impl Deletion {
    pub(crate) const fn is_sent(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Asks for one.
    pub(crate) const fn send(&mut self) {
        if matches!(self, Self::None) {
            *self = Self::Sent;
        }
    }
}
