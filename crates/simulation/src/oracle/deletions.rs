//! What clients know of the deletion of a request or a batch.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    None,
    /// It was asked for, and nobody knows what became of it.
    Sent,
    Gone,
}

impl Deletion {
    pub(crate) const fn is_sent(self) -> bool {
        !matches!(self, Self::None)
    }

    pub(crate) const fn send(&mut self) {
        if matches!(self, Self::None) {
            *self = Self::Sent;
        }
    }
}
