//! A client's knowledge of a deletion.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    None,
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
