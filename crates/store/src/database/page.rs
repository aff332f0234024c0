//! Rows that SQLite returned, all in two allocations, so that a thread can hand over a page of them as one message.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use overnight_base::encryption::Keyring;
use rusqlite::types::ValueRef;

use crate::database::decryption::{decrypted, names_object};

pub(super) type ColumnNames = Arc<[Box<str>]>;

#[derive(Debug)]
pub(crate) struct Page {
    columns: ColumnNames,
    slots: Vec<Slot>,
    bytes: Bytes,
}

pub(super) struct PageWriter {
    columns: ColumnNames,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
}

/// A value; for bytes and text, their range.
#[derive(Debug, Clone)]
enum Slot {
    Null,
    Integer(i64),
    Bytes(Range<usize>),
    Text(Range<usize>),
    Reference(Range<usize>),
    /// A kind of value that we do not store, or cannot read.
    Foreign,
}

/// A column's value on either database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnValue<'r> {
    Null,
    Integer(i64),
    Bytes(&'r [u8]),
    Text(&'r str),
    Reference(&'r [u8]),
}

impl PageWriter {
    /// Grows as needed.
    pub(super) fn with_capacity(columns: ColumnNames, slots: usize, bytes: usize) -> Self {
        Self { columns, slots: Vec::with_capacity(slots), bytes: Vec::with_capacity(bytes) }
    }

    /// Decrypts an encrypted value.
    pub(super) fn push(&mut self, value: ValueRef<'_>, keyring: &Keyring) {
        let slot = match value {
            ValueRef::Null => Slot::Null,
            ValueRef::Integer(value) => Slot::Integer(value),
            ValueRef::Blob(bytes) if names_object(bytes, keyring) => Slot::Reference(self.keep(bytes)),
            ValueRef::Blob(bytes) => match decrypted(bytes, keyring) {
                Some(bytes) => Slot::Bytes(self.keep(&bytes)),
                None => Slot::Foreign,
            },
            ValueRef::Text(bytes) => Slot::Text(self.keep(bytes)),
            ValueRef::Real(_) => Slot::Foreign,
        };
        self.slots.push(slot);
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    /// Shrinks to fit, because the page may be kept for long.
    pub(super) fn finish(mut self) -> Page {
        if self.bytes.capacity() > 2 * self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
        Page { columns: self.columns, slots: self.slots, bytes: self.bytes.into() }
    }
}

impl Page {
    pub(super) fn rows(&self) -> usize {
        self.slots.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.slots.len(), self.bytes.len())
    }

    /// The index of a column; looks at `expected` first.
    pub(super) fn column(&self, name: &str, expected: usize) -> Option<usize> {
        if self.columns.get(expected).is_some_and(|column| **column == *name) {
            return Some(expected);
        }
        self.columns.iter().position(|column| **column == *name)
    }

    /// Bytes of a value of this page, which they keep in memory.
    pub(super) fn share(&self, bytes: &[u8]) -> Bytes {
        self.bytes.slice_ref(bytes)
    }

    /// `None` if there is no such column, or its value is of a foreign kind.
    pub(super) fn value(&self, row: usize, column: usize) -> Option<ColumnValue<'_>> {
        match self.slots.get(row * self.columns.len() + column)? {
            Slot::Null => Some(ColumnValue::Null),
            Slot::Integer(value) => Some(ColumnValue::Integer(*value)),
            Slot::Bytes(range) => Some(ColumnValue::Bytes(&self.bytes[range.clone()])),
            Slot::Reference(range) => Some(ColumnValue::Reference(&self.bytes[range.clone()])),
            Slot::Text(range) => std::str::from_utf8(&self.bytes[range.clone()]).ok().map(ColumnValue::Text),
            Slot::Foreign => None,
        }
    }
}
