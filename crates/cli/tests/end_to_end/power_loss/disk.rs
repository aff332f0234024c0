//! The state of the disk after a loss of power.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::chance::Chance;
use super::recorded::{Record, Recorded};

/// The unit that a disk writes completely or not at all.
const SECTOR_BYTES: usize = 512;

/// The size of SQLite's smallest index of its log.
const SHARED_MEMORY_BYTES: usize = 32_768;

/// A change that is on the disk certainly or possibly.
struct Change<'r> {
    number: usize,
    record: &'r Record,
    /// A sync of it failed: no later one makes it durable.
    is_doubtful: bool,
}

/// A file, or the names in a folder: its changes, and the record up to which they are durable.
#[derive(Default)]
struct Changed<'r> {
    changes: Vec<Change<'r>>,
    synced_before: usize,
}

/// Which unsynced changes a state keeps.
#[derive(Clone, Copy)]
enum Kept {
    Nothing,
    Everything,
    /// Each sector, and each change of names or length, by chance.
    ByChance,
    /// All up to one of them, which is torn.
    Beginning {
        end: usize,
    },
}

impl<'r> Changed<'r> {
    fn push(&mut self, number: usize, record: &'r Record) {
        self.changes.push(Change { number, record, is_doubtful: false });
    }

    fn doubt(&mut self, before: usize) {
        let synced = self.synced_before;
        let doubtful = self.changes.iter_mut().filter(|it| it.number >= synced && it.number < before);
        doubtful.for_each(|it| it.is_doubtful = true);
    }

    fn is_durable(&self, change: &Change<'_>) -> bool {
        change.number < self.synced_before && !change.is_doubtful
    }
}

/// The files and names of the folder after the first `at` records.
struct Disk<'r> {
    files: Vec<Changed<'r>>,
    /// The newest file of each inode, because the number of a removed file is reused.
    inodes: BTreeMap<u64, usize>,
    /// The folders by their inodes; they are opened for a sync.
    folders: BTreeMap<u64, String>,
    /// The current file of each path.
    live: BTreeMap<String, usize>,
    /// The file of each record that creates one.
    made: BTreeMap<usize, usize>,
    names: BTreeMap<String, Changed<'r>>,
}

fn parent(path: &str) -> String {
    Path::new(path).parent().unwrap().to_string_lossy().into_owned()
}

impl<'r> Disk<'r> {
    fn after(run: &'r Recorded, at: usize) -> Self {
        let root = run.folder.to_string_lossy().into_owned();
        let names = BTreeMap::from([(root, Changed::default())]);
        let mut disk = Self {
            files: Vec::new(),
            inodes: BTreeMap::new(),
            folders: BTreeMap::new(),
            live: BTreeMap::new(),
            made: BTreeMap::new(),
            names,
        };
        for (number, record) in run.records[..at].iter().enumerate() {
            disk.take(number, record);
        }
        disk
    }

    fn take(&mut self, number: usize, record: &'r Record) {
        match record {
            Record::Opened { inode, path } if self.names.contains_key(path) => {
                self.folders.insert(*inode, path.clone());
            }
            Record::Opened { inode, path } => self.open(number, record, *inode, path),
            Record::Written { inode, .. } | Record::Cut { inode, .. } => {
                let file = self.inodes[inode];
                self.files[file].push(number, record);
            }
            Record::Synced { inode, before } => {
                let changed = self.changed(*inode);
                changed.synced_before = changed.synced_before.max(*before);
            }
            Record::SyncFailed { inode, before } => self.changed(*inode).doubt(*before),
            Record::Renamed { from, to } => {
                let file = self.live.remove(from).unwrap();
                self.live.insert(to.clone(), file);
                self.name(number, record, to);
            }
            Record::Unlinked { path } => {
                self.live.remove(path);
                self.name(number, record, path);
            }
            Record::Made { path } => {
                self.names.insert(path.clone(), Changed::default());
                self.name(number, record, path);
            }
            Record::Sent { .. } => {}
        }
    }

    fn open(&mut self, number: usize, record: &'r Record, inode: u64, path: &str) {
        let known = self.live.get(path).copied().filter(|file| self.inodes.get(&inode) == Some(file));
        if known.is_none() {
            let file = self.files.len();
            self.files.push(Changed::default());
            self.inodes.insert(inode, file);
            self.live.insert(path.to_owned(), file);
            self.made.insert(number, file);
            self.name(number, record, path);
        }
    }

    fn name(&mut self, number: usize, record: &'r Record, path: &str) {
        self.names.entry(parent(path)).or_default().push(number, record);
    }

    fn changed(&mut self, inode: u64) -> &mut Changed<'r> {
        match self.folders.get(&inode) {
            Some(path) => self.names.get_mut(path).unwrap(),
            None => &mut self.files[self.inodes[&inode]],
        }
    }

    /// The remaining files by path.
    fn left(&self, chance: &mut Chance) -> BTreeMap<&'r str, usize> {
        let mut left = BTreeMap::new();
        for changed in self.names.values() {
            let kept = kept(changed, chance);
            for (place, change) in changed.changes.iter().enumerate() {
                if !changed.is_durable(change) && !survives(kept, place, chance) {
                    continue;
                }
                match change.record {
                    Record::Opened { path, .. } => {
                        left.insert(path.as_str(), self.made[&change.number]);
                    }
                    Record::Renamed { from, to } => {
                        let file = left.remove(from.as_str());
                        // If the file's previous name was never written, neither was its new one.
                        file.into_iter().for_each(|file| {
                            left.insert(to.as_str(), file);
                        });
                    }
                    Record::Unlinked { path } => {
                        left.remove(path.as_str());
                    }
                    _ => {}
                }
            }
        }
        left
    }
}

fn kept(changed: &Changed<'_>, chance: &mut Chance) -> Kept {
    match chance.below(5) {
        0 => Kept::Nothing,
        1 => Kept::Everything,
        2 => Kept::Beginning { end: chance.below(changed.changes.len() + 1) },
        _ => Kept::ByChance,
    }
}

/// Whether an unsynced change is completely on the disk.
fn survives(kept: Kept, place: usize, chance: &mut Chance) -> bool {
    match kept {
        Kept::Nothing => false,
        Kept::Everything => true,
        Kept::ByChance => chance.heads(),
        Kept::Beginning { end } => place < end,
    }
}

fn content(changed: &Changed<'_>, chance: &mut Chance) -> Vec<u8> {
    let (kept, mut bytes) = (kept(changed, chance), Vec::new());
    for (place, change) in changed.changes.iter().enumerate() {
        let is_durable = changed.is_durable(change);
        match change.record {
            Record::Cut { length, .. } if is_durable || survives(kept, place, chance) => {
                bytes.resize(*length, 0);
            }
            Record::Written { offset, data, .. } => {
                let is_torn = matches!(kept, Kept::Beginning { end } if place == end);
                let mut done = 0;
                for sector in data.chunks(SECTOR_BYTES) {
                    let is_there =
                        is_durable || if is_torn { chance.heads() } else { survives(kept, place, chance) };
                    if is_there {
                        let (from, to) = (offset + done, offset + done + sector.len());
                        bytes.resize(bytes.len().max(to), 0);
                        bytes[from..to].copy_from_slice(sector);
                    }
                    done += sector.len();
                }
            }
            _ => {}
        }
    }
    bytes
}

/// Writes the folder into `target` as a loss of power after the first `at` records may leave it. Unsynced changes remain by chance.
pub(super) fn rebuild(run: &Recorded, at: usize, chance: &mut Chance, target: &Path) {
    let disk = Disk::after(run, at);
    fs::create_dir_all(target).unwrap();
    for path in disk.names.keys() {
        fs::create_dir_all(target.join(Path::new(path).strip_prefix(&run.folder).unwrap())).unwrap();
    }
    for (path, file) in disk.left(chance) {
        let bytes = if path.ends_with("-shm") {
            // It is mapped memory, whose changes are not logged, so it may have any bytes.
            (0..SHARED_MEMORY_BYTES).map(|_| chance.byte()).collect()
        } else {
            content(&disk.files[file], chance)
        };
        fs::write(target.join(Path::new(path).strip_prefix(&run.folder).unwrap()), bytes).unwrap();
    }
}
