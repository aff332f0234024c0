//! Finding the backups that cannot be restored any more, before others are deleted because of them.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::operations::backup::chunks::Digest;
use crate::operations::backup::errors::BackupError;
use crate::operations::backup::repository::{Name, Repository};

/// Chunks read per call, 256 MiB of pages: one part of all, and the next call reads the next part.
const CHUNKS_AT_ONCE: usize = 1_024;

/// Unix: the disk cannot read a sector.
const EIO: i32 = 5;

#[derive(Debug)]
pub struct Unusable {
    /// Of its description, where it is now.
    pub path: PathBuf,
    pub fault: BackupError,
}

/// Checks that every chunk of every backup exists, and reads a part of the chunks that the newest backup lacks: its own were compared when
/// it was taken. Backups that cannot be restored are set aside and no longer count; their chunks stay.
pub fn set_damaged_aside(repository: &Repository) -> Result<Vec<Unusable>, BackupError> {
    let mut names = repository.names()?;
    let Some(newest) = names.pop() else { return Ok(Vec::new()) };
    let mut sound: HashSet<Digest> = repository.manifest(&newest)?.chunks.into_iter().collect();
    let present = repository.chunks().present()?;
    let parts = (present.len() - sound.len().min(present.len())).div_ceil(CHUNKS_AT_ONCE).clamp(1, 256);
    let is_read = |digest: Digest| is_in_turn(digest.first_byte(), newest.number, parts as u64);
    let mut unusable = Vec::new();
    for name in names {
        if let Some(fault) = find_fault(repository, &name, &present, &mut sound, is_read)? {
            unusable.push(Unusable { path: repository.set_aside(&name)?, fault });
        }
    }
    Ok(unusable)
}

/// Whether the call after backup `number` reads chunks whose digests begin with this byte, if all are read in `parts` calls.
fn is_in_turn(first_byte: u8, number: u64, parts: u64) -> bool {
    u64::from(first_byte) % parts == number % parts
}

/// The fault that keeps a backup from being restored. Chunks read are added to `sound`.
fn find_fault(
    repository: &Repository,
    name: &Name,
    present: &HashSet<Digest>,
    sound: &mut HashSet<Digest>,
    is_read: impl Fn(Digest) -> bool,
) -> Result<Option<BackupError>, BackupError> {
    let manifest = match repository.manifest(name) {
        Err(fault @ BackupError::Manifest { .. }) => return Ok(Some(fault)),
        manifest => manifest?,
    };
    for (place, digest) in manifest.chunks.iter().copied().enumerate() {
        if sound.contains(&digest) || present.contains(&digest) && !is_read(digest) {
            continue;
        }
        match repository.chunks().load(digest, manifest.length_of(place)) {
            Ok(_) => _ = sound.insert(digest),
            Err(fault) if is_lost(&fault) => return Ok(Some(fault)),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether a chunk is lost for good. A file that this user may not read, or on an unreachable network disk, is not.
fn is_lost(fault: &BackupError) -> bool {
    match fault {
        BackupError::MissingChunk { .. } | BackupError::DamagedChunk { .. } => true,
        BackupError::File { source, .. } => source.raw_os_error() == Some(EIO),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::path::Path;

    use super::*;
    use crate::operations::backup::manifest::{Manifest, Summary};

    #[test]
    fn chunk_has_its_turn_once_in_as_many_calls_as_there_are_parts() {
        for parts in [1, 3, 256] {
            for first_byte in 0..=255 {
                let turns = (7..7 + parts).filter(|number| is_in_turn(first_byte, *number, parts));
                assert_eq!(turns.count(), 1, "{first_byte} of {parts}");
            }
        }
    }

    #[test]
    fn missing_chunk_is_found_whoever_has_the_turn_and_one_that_cannot_be_read_sets_nothing_aside() {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = Repository::open_to_write(folder.path()).expect("a repository");
        let digest = repository.chunks().store(&[1; 4_096]).expect("a chunk").digest;
        repository.chunks().settle().expect("a chunk");
        let (id, release) = ("20261120T211403.512Z".to_owned(), String::new());
        let summary = Summary { id, taken_at: 0, release, schema: 1, bytes: 4_096, new_bytes: 0 };
        repository.add(&Manifest::new(summary, 4_096, 1, vec![digest])).expect("a backup");
        let name = repository.names().expect("names").remove(0);
        let find = |is_read: bool| {
            let present = repository.chunks().present()?;
            find_fault(&repository, &name, &present, &mut HashSet::new(), |_| is_read)
        };
        assert!([false, true].into_iter().all(|is_read| matches!(find(is_read), Ok(None))));
        let path = repository.chunks().path_of(digest);
        fs::write(&path, "other").expect("damage");
        assert!(matches!(find(false), Ok(None)), "its turn comes later");
        assert!(matches!(find(true), Ok(Some(BackupError::DamagedChunk { .. }))));
        fs::remove_file(&path).expect("a file");
        assert!(matches!(find(false), Ok(Some(BackupError::MissingChunk { .. }))));
        fs::create_dir(&path).expect("a folder in its place");
        assert!(matches!(find(true), Err(BackupError::File { .. })));
    }

    #[test]
    fn file_on_a_bad_sector_is_lost_and_one_that_may_not_be_read_is_not() {
        let fault = |errno| BackupError::file(Path::new("chunk"))(io::Error::from_raw_os_error(errno));
        assert!(is_lost(&fault(EIO)));
        // EACCES, ESTALE
        assert!(!is_lost(&fault(13)) && !is_lost(&fault(116)));
    }
}
