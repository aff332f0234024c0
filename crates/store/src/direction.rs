//! The direction in which a list is read.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    OldestFirst,
    NewestFirst,
}

impl Direction {
    /// Numbers before the first row and after the last.
    pub(crate) const fn ends(self) -> (i64, i64) {
        match self {
            Self::NewestFirst => (i64::MAX, i64::MIN),
            Self::OldestFirst => (i64::MIN, i64::MAX),
        }
    }
}
