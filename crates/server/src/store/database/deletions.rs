//! Counts the transactions that deleted something that people sent or that is about people, so that their bytes are looked for in
//! the file afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the text of a deletion begins.
const BEGINS: &str = "DELETE FROM ";

/// Tables that hold numbers and names of machines only: their rows come and go with every request and every start.
const NUMBERS_ONLY: [&str; 8] = [
    "queue",
    "batch_ends",
    "commit_markers",
    "engine_days",
    "engine_reports",
    "node_replicas",
    "nodes",
    "segments",
];

/// The count of one file; clones share it.
#[derive(Debug, Clone, Default)]
pub(in crate::store) struct Deletions(Arc<AtomicU64>);

impl Deletions {
    /// One more was committed.
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }

    /// How many were committed on connections that share this count.
    pub(in crate::store) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether a statement deletes rows that may hold what people sent.
pub(super) fn deletes_content(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(BEGINS) else { return false };
    let table = rest.split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next();
    !table.is_some_and(|table| NUMBERS_ONLY.contains(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_of_content_is_told_from_one_of_numbers() {
        assert!(deletes_content("DELETE FROM requests WHERE seq = ?1"));
        assert!(deletes_content("DELETE FROM batches WHERE seq = ? AND account < 0\n RETURNING seq"));
        assert!(deletes_content("DELETE FROM users"));
        assert!(!deletes_content("DELETE FROM queue WHERE model = ?1"));
        assert!(!deletes_content("DELETE FROM nodes"));
        assert!(!deletes_content("UPDATE files SET state = 2"));
    }
}
