//! Rows that SQLite returned, all in two allocations, so that a thread can hand over a page of them as one message.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use overnight_base::encryption::Keyring;
use rusqlite::types::ValueRef;

use crate::store::database::decryption::{decrypted, names_object};

/// The names of the columns of a statement.
pub(super) type ColumnNames = Arc<[Box<str>]>;

/// The rows of a statement.
#[derive(Debug)]
pub(in crate::store) struct Page {
    columns: ColumnNames,
    slots: Vec<Slot>,
    bytes: Bytes,
}

pub(super) struct PageWriter {
    columns: ColumnNames,
    slots: Vec<Slot>,
    bytes: Vec<u8>,
}

/// A value; of bytes and text, where they are.
#[derive(Debug, Clone)]
enum Slot {
    Null,
    Integer(i64),
    Bytes(Range<usize>),
    Text(Range<usize>),
    /// The name of an object that holds the value.
    Reference(Range<usize>),
    /// We store no such thing, or cannot read it.
    Foreign,
}

/// The value of a column as either database has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum ColumnValue<'r> {
    Null,
    Integer(i64),
    Bytes(&'r [u8]),
    Text(&'r str),
    /// The name of an object that holds the value.
    Reference(&'r [u8]),
}

impl PageWriter {
    /// A page with room for `slots` values and `bytes` bytes of text and blobs; it grows as needed.
    pub(super) fn with_capacity(columns: ColumnNames, slots: usize, bytes: usize) -> Self {
        Self { columns, slots: Vec::with_capacity(slots), bytes: Vec::with_capacity(bytes) }
    }

    /// Adds a value, and of one that is encrypted what it was.
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

    /// The page, without the room that it did not need: its bytes may be kept for long.
    pub(super) fn finish(mut self) -> Page {
        if self.bytes.capacity() > 2 * self.bytes.len() {
            self.bytes.shrink_to_fit();
        }
        Page { columns: self.columns, slots: self.slots, bytes: self.bytes.into() }
    }
}

impl Page {
    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.slots.len().checked_div(self.columns.len()).unwrap_or(0)
    }

    /// The length of the values, and of the bytes that they need.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.slots.len(), self.bytes.len())
    }

    /// The number of the column of this name. The column `expected` is looked at first.
    pub(super) fn column(&self, name: &str, expected: usize) -> Option<usize> {
        if self.columns.get(expected).is_some_and(|column| **column == *name) {
            return Some(expected);
        }
        self.columns.iter().position(|column| **column == *name)
    }

    /// Bytes that are a value of this page, which they keep in memory.
    pub(super) fn share(&self, bytes: &[u8]) -> Bytes {
        self.bytes.slice_ref(bytes)
    }

    /// The value of a column of a row; `None` where there is no such thing, or it is nothing that we store.
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
