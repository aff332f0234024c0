//! Deleting old backups, and the chunks that no other has.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use crate::store::operations::backup::errors::BackupError;
use crate::store::operations::backup::repository::Repository;

/// The date in the name of a backup.
const DATE_DIGITS: usize = 8;

/// Which backups stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// So many of the newest, and one at least.
    pub newest: usize,
    /// Of so many of the latest days (UTC) that have backups, the newest of each.
    pub days: usize,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Backups.
    pub backups: usize,
    /// Chunks that no other backup has.
    pub chunks: u64,
    /// The bytes of the files of these chunks.
    pub bytes: u64,
}

/// Deletes the backups that are not to be kept. What breaks off is carried through by the next call.
///
/// # Errors
/// A file cannot be deleted, or the description of a backup that is kept is damaged: then no chunk is deleted.
pub fn prune(repository: &Repository, keep: Keep) -> Result<Pruned, BackupError> {
    let (kept, dropped) = part(&repository.ids()?, keep);
    let mut used = HashSet::new();
    for id in &kept {
        used.extend(repository.manifest(id)?.chunks);
    }
    repository.remove(&dropped)?;
    let (chunks, bytes) = repository.chunks().delete_unused(|digest| used.contains(&digest))?;
    Ok(Pruned { backups: dropped.len(), chunks, bytes })
}

/// Parts the names of backups, the oldest first, into those that stay and those that go.
fn part(ids: &[String], keep: Keep) -> (Vec<String>, Vec<String>) {
    let oldest_kept = ids.len().saturating_sub(keep.newest.max(1));
    let mut days = BTreeSet::new();
    let mut stays = vec![false; ids.len()];
    for (place, id) in ids.iter().enumerate().rev() {
        let day = id.get(..DATE_DIGITS).unwrap_or(id);
        let is_newest_of_day = (days.len() < keep.days || days.contains(day)) && days.insert(day);
        stays[place] = place >= oldest_kept || is_newest_of_day;
    }
    let (kept, dropped): (Vec<_>, Vec<_>) = ids.iter().cloned().zip(stays).partition(|(_, stays)| *stays);
    let names = |parted: Vec<(String, bool)>| parted.into_iter().map(|(id, _)| id).collect();
    (names(kept), names(dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(newest: usize, days: usize) -> Vec<String> {
        let ids = ["20261118T01", "20261119T01", "20261119T23", "20261121T01", "20261121T02", "20261121T03"];
        part(&ids.map(ToOwned::to_owned), Keep { newest, days }).0
    }

    #[test]
    fn the_newest_stay_and_the_newest_of_each_day() {
        assert_eq!(kept(2, 0), ["20261121T02", "20261121T03"]);
        assert_eq!(kept(1, 2), ["20261119T23", "20261121T03"]);
        assert_eq!(kept(2, 9), ["20261118T01", "20261119T23", "20261121T02", "20261121T03"]);
        assert_eq!(kept(9, 0).len(), 6);
    }

    #[test]
    fn one_stays_whatever_is_asked() {
        assert_eq!(kept(0, 0), ["20261121T03"]);
        assert_eq!(part(&[], Keep { newest: 0, days: 0 }), (Vec::new(), Vec::new()));
    }
}
