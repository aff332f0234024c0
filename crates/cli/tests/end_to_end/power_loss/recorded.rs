//! Reads the log of a run.

use std::path::PathBuf;

const HEAD_BYTES: usize = 25;

pub(super) struct Recorded {
    /// The watched folder, as the program named it.
    pub(super) folder: PathBuf,
    pub(super) records: Vec<Record>,
}

/// Calls in the order of their returns. A file has its inode's number from its opening on.
#[derive(Debug)]
pub(super) enum Record {
    Opened {
        inode: u64,
        path: String,
    },
    Written {
        inode: u64,
        offset: usize,
        data: Vec<u8>,
    },
    Cut {
        inode: u64,
        length: usize,
    },
    /// All changes of the file, or of the folder's names, before record `before` are durable.
    Synced {
        inode: u64,
        before: usize,
    },
    /// Earlier writes may not be durable, and a later sync does not change that.
    SyncFailed {
        inode: u64,
        before: usize,
    },
    Renamed {
        from: String,
        to: String,
    },
    Unlinked {
        path: String,
    },
    Made {
        path: String,
    },
    Sent {
        data: Vec<u8>,
    },
}

impl Record {
    /// Removes syncs, as if the disk ignored them.
    pub(super) fn forget_sync(&mut self) {
        if let Self::Synced { before, .. } = self {
            *before = 0;
        }
    }
}

impl Recorded {
    pub(super) fn read(folder: PathBuf, log: &[u8]) -> Self {
        let (mut rest, mut records) = (log, Vec::new());
        // A kill may cut the last record off.
        while let Some((record, behind)) = read_one(rest) {
            records.push(record);
            rest = behind;
        }
        Self { folder, records }
    }
}

fn number(bytes: &[u8]) -> usize {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    usize::try_from(u64::from_le_bytes(word)).unwrap()
}

fn read_one(log: &[u8]) -> Option<(Record, &[u8])> {
    let (head, rest) = log.split_at_checked(HEAD_BYTES)?;
    let (inode, offset) = (number(&head[1..9]) as u64, number(&head[9..17]));
    let (path, rest) = rest.split_at_checked(number(&head[17..21]))?;
    let (data, rest) = rest.split_at_checked(number(&head[21..25]))?;
    let path = String::from_utf8(path.to_vec()).unwrap();
    let data = data.to_vec();
    let record = match head[0] {
        1 => Record::Opened { inode, path },
        2 => Record::Written { inode, offset, data },
        3 => Record::Cut { inode, length: offset },
        4 => Record::Synced { inode, before: offset },
        5 => Record::SyncFailed { inode, before: offset },
        6 => Record::Renamed { from: path, to: String::from_utf8(data).unwrap() },
        7 => Record::Unlinked { path },
        8 => Record::Made { path },
        9 => Record::Sent { data },
        other => panic!("a record of kind {other}"),
    };
    Some((record, rest))
}
