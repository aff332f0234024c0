//! Numbers of moved rows by table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::operations::transfer::tables::TABLES;

/// As JSON, an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    pub(super) fn none() -> Self {
        Self(TABLES.iter().map(|table| (table.name.to_owned(), 0)).collect())
    }

    pub fn of(&self, table: &str) -> u64 {
        self.0.get(table).copied().unwrap_or(0)
    }

    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    pub(super) fn add(&mut self, table: &str, rows: usize) {
        *self.0.entry(table.to_owned()).or_default() += rows as u64;
    }
}
