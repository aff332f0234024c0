//! Deleting old backups, and chunks that no other backup has.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use crate::operations::backup::errors::BackupError;
use crate::operations::backup::repository::{Name, Repository};

/// The date in the name of a backup.
const DATE_DIGITS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// This many of the newest; at least one.
    pub newest: usize,
    /// The newest of each of this many latest days (UTC) that have backups.
    pub days: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pruned {
    pub backups: usize,
    /// Chunks that no other backup has.
    pub chunks: u64,
    /// Of the files of these chunks.
    pub bytes: u64,
}

/// Deletes the backups that are not to be kept. The backup `taken` stays, also if another has got a higher number. The next call completes
/// an interrupted one. If the description of a kept backup is damaged, it fails and deletes no chunk.
pub fn prune(repository: &Repository, keep: Keep, taken: Option<&str>) -> Result<Pruned, BackupError> {
    let (kept, dropped) = part(&repository.names()?, keep, taken);
    let mut used = HashSet::new();
    for name in &kept {
        used.extend(repository.manifest(name)?.chunks);
    }
    used.extend(repository.damaged_manifests()?.into_iter().flat_map(|manifest| manifest.chunks));
    repository.remove(&dropped)?;
    let (chunks, bytes) = repository.chunks().delete_unused(|digest| used.contains(&digest))?;
    Ok(Pruned { backups: dropped.len(), chunks, bytes })
}

/// Splits names, oldest first, into kept and deleted backups.
fn part(names: &[Name], keep: Keep, taken: Option<&str>) -> (Vec<Name>, Vec<Name>) {
    let oldest_kept = names.len().saturating_sub(keep.newest.max(1));
    let mut days = BTreeSet::new();
    let mut stays = vec![false; names.len()];
    for (place, name) in names.iter().enumerate().rev() {
        let day = name.id.get(..DATE_DIGITS).unwrap_or(&name.id);
        let is_newest_of_day = (days.len() < keep.days || days.contains(day)) && days.insert(day);
        stays[place] = place >= oldest_kept || is_newest_of_day || taken == Some(&*name.id);
    }
    let (kept, dropped): (Vec<_>, Vec<_>) = names.iter().cloned().zip(stays).partition(|(_, stays)| *stays);
    let names = |parted: Vec<(Name, bool)>| parted.into_iter().map(|(name, _)| name).collect();
    (names(kept), names(dropped))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(newest: usize, days: usize) -> Vec<String> {
        let ids = ["20261118T01", "20261119T01", "20261119T23", "20261121T01", "20261121T02", "20261121T03"];
        names_of(part(&numbered(&ids), Keep { newest, days }, None).0)
    }

    fn numbered(ids: &[&str]) -> Vec<Name> {
        (1..).zip(ids).map(|(number, id)| Name { number, id: (*id).to_owned() }).collect()
    }

    fn names_of(names: Vec<Name>) -> Vec<String> {
        names.into_iter().map(|name| name.id).collect()
    }

    #[test]
    fn backup_of_a_wrong_clock_is_not_kept_for_its_date() {
        let names = numbered(&["20261119T01", "20400101T01", "20261120T01", "20261120T02"]);
        assert_eq!(names_of(part(&names, Keep { newest: 1, days: 0 }, None).0), ["20261120T02"]);
        let kept = part(&names, Keep { newest: 2, days: 1 }, None).0;
        assert_eq!(names_of(kept), ["20261120T01", "20261120T02"]);
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
        assert_eq!(part(&[], Keep { newest: 0, days: 0 }, None), (Vec::new(), Vec::new()));
    }

    #[test]
    fn backup_that_was_just_taken_stays_whatever_number_another_has() {
        let names = numbered(&["20261118T01", "20261119T01", "20261121T01"]);
        let kept = part(&names, Keep { newest: 1, days: 1 }, Some("20261119T01")).0;
        assert_eq!(names_of(kept), ["20261119T01", "20261121T01"]);
    }
}
