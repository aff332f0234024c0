//! What parts the fields of a record.

use crate::kinds::Format;

/// What parts fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Part {
    Comma = b',',
    Tab = b'\t',
}

impl Part {
    /// What parts those of a format.
    pub(crate) const fn of(format: Format) -> Self {
        match format {
            Format::Tsv => Self::Tab,
            Format::Csv | Format::JsonLines | Format::Parquet => Self::Comma,
        }
    }

    pub(crate) const fn byte(self) -> u8 {
        self as u8
    }
}
