//! Limits of the writer while the disk fills up: creates stop first, then work that leads to more results. Running work is settled in the
//! reserve.

use std::cmp::Ordering;
use std::path::PathBuf;

use tokio::sync::watch;

use crate::disk_space::DiskSpace;
use crate::error::StoreError;

/// Interval of looks at the disk while there is work.
const LOOK_MS: i64 = 100;

/// With room for fewer bytes of intake, the disk is looked at before each group, so that none is refused by an old figure: written bytes
/// count twice until then.
const SCANT_ROOM: usize = 128 << 20;

/// Refused work is accepted again once the reserve divided by this is free in addition.
const MARGIN_PART: u64 = 16;

/// An accepted byte is written twice: to the log and to the database.
const WRITTEN_PER_BYTE: u64 = 2;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    #[default]
    Free,
    /// Less than the reserve is free: no intake.
    Reserved,
    /// Less than half of the reserve is free: no leases either.
    Scarce,
}

/// Limits until the next look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Allowance {
    /// `None` for no limit.
    pub(super) intake_bytes: Option<usize>,
    /// Whether work does not advance towards engines.
    pub(super) is_advance_held: bool,
}

impl Allowance {
    /// The room for intake after `bytes` more. Fails with [`StoreError::DiskReserved`] if there is none.
    pub(super) fn room_after(self, bytes: usize) -> Result<Option<usize>, StoreError> {
        let Some(room) = self.intake_bytes else { return Ok(None) };
        room.checked_sub(bytes).map(Some).ok_or(StoreError::DiskReserved)
    }
}

/// Watches the database's disk, and logs when its level changes.
pub(crate) struct DiskWatch {
    file: PathBuf,
    setting: watch::Receiver<Option<u64>>,
    /// `None` before the first look.
    looked_at: Option<i64>,
    level: Level,
}

impl DiskWatch {
    /// `setting` is the reserve in bytes, `None` for the default.
    pub(crate) const fn new(file: PathBuf, setting: watch::Receiver<Option<u64>>) -> Self {
        Self { file, setting, looked_at: None, level: Level::Free }
    }

    /// `room` is the room left for intake. A clock that was set back does not delay it.
    pub(super) fn is_due(&self, room: Option<usize>, now: i64) -> bool {
        let is_recent = self.looked_at.is_some_and(|at| (at..at + LOOK_MS).contains(&now));
        let is_scant = self.level == Level::Free && room.is_some_and(|room| room < SCANT_ROOM);
        !is_recent || is_scant || self.setting.has_changed().unwrap_or(false)
    }

    /// Measures the disk; `free_pages` are bytes of the database.
    pub(super) fn look(&mut self, free_pages: u64, now: i64) -> Allowance {
        self.looked_at = Some(now);
        let setting = *self.setting.borrow_and_update();
        let measured = DiskSpace::measure(&self.file, free_pages, setting);
        let Some(space) = measured.filter(|space| space.reserve > 0) else {
            self.level = Level::Free;
            return Allowance::default();
        };
        let level = self.level.next(space);
        log_change(self.level, level, space);
        self.level = level;
        level.allowance(space)
    }
}

impl Level {
    /// A level ends once a margin is free above it, so that it does not change with every write.
    fn next(self, DiskSpace { free, reserve }: DiskSpace) -> Self {
        let margin = reserve / MARGIN_PART;
        let is_below = |bound: u64, level| match self >= level {
            true => free < bound.saturating_add(margin),
            false => free < bound,
        };
        if is_below(reserve / 2, Self::Scarce) {
            Self::Scarce
        } else if is_below(reserve, Self::Reserved) {
            Self::Reserved
        } else {
            Self::Free
        }
    }

    fn allowance(self, DiskSpace { free, reserve }: DiskSpace) -> Allowance {
        let room = match self {
            Self::Free => free.saturating_sub(reserve) / WRITTEN_PER_BYTE,
            Self::Reserved | Self::Scarce => 0,
        };
        let intake_bytes = Some(usize::try_from(room).unwrap_or(usize::MAX));
        Allowance { intake_bytes, is_advance_held: self == Self::Scarce }
    }
}

fn log_change(before: Level, after: Level, DiskSpace { free, reserve }: DiskSpace) {
    let message = match after {
        Level::Free => "disk has room; accepting creates",
        Level::Reserved if before == Level::Scarce => {
            "disk has room for results; sending requests to engines again, refusing creates still"
        }
        Level::Reserved => "disk nearly full; refusing creates",
        Level::Scarce => "disk almost full; refusing creates and sending no more requests to engines",
    };
    match after.cmp(&before) {
        Ordering::Greater => tracing::error!(free, reserve, "{message}"),
        Ordering::Less => tracing::info!(free, reserve, "{message}"),
        Ordering::Equal => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_left_with_a_margin() {
        use Level::{Free, Reserved, Scarce};
        let reserve = 1_600;
        for (level, free, expected) in [
            (Free, 1_600, Free),
            (Free, 1_599, Reserved),
            (Free, 799, Scarce),
            (Reserved, 1_699, Reserved),
            (Reserved, 1_700, Free),
            (Reserved, 800, Reserved),
            (Reserved, 799, Scarce),
            (Scarce, 899, Scarce),
            (Scarce, 900, Reserved),
            (Scarce, 1_699, Reserved),
            (Scarce, 1_700, Free),
            (Scarce, 0, Scarce),
        ] {
            assert_eq!(level.next(DiskSpace { free, reserve }), expected, "{level:?} with {free}");
        }
        assert_eq!(Free.next(DiskSpace { free: 0, reserve: u64::MAX }), Scarce);
    }

    #[test]
    fn what_is_taken_in_before_the_next_look_fits_above_the_reserve_twice() {
        let space = DiskSpace { free: 1_100, reserve: 1_000 };
        let allowed = |level: Level| {
            let Allowance { intake_bytes, is_advance_held } = level.allowance(space);
            (intake_bytes, is_advance_held)
        };
        assert_eq!(allowed(Level::Free), (Some(50), false));
        assert_eq!(allowed(Level::Reserved), (Some(0), false));
        assert_eq!(allowed(Level::Scarce), (Some(0), true));
    }

    #[test]
    fn the_disk_is_looked_at_each_so_often_and_at_once_where_room_is_scant_or_the_reserve_was_set() {
        const NOW: i64 = 1_000_000;
        let file = tempfile::NamedTempFile::new().expect("a file");
        let (reserve, setting) = watch::channel(Some(1));
        let mut disk = DiskWatch::new(file.path().to_owned(), setting);
        assert!(disk.is_due(None, NOW), "nobody has looked");
        assert!(disk.look(0, NOW).intake_bytes.is_some());
        for (room, now, is_due) in [
            (None, NOW, false),
            (None, NOW + LOOK_MS - 1, false),
            (None, NOW + LOOK_MS, true),
            (None, NOW - 1, true),
            (Some(SCANT_ROOM), NOW, false),
            (Some(SCANT_ROOM - 1), NOW, true),
        ] {
            assert_eq!(disk.is_due(room, now), is_due, "{room:?} at {now}");
        }
        reserve.send_replace(Some(u64::MAX));
        assert!(disk.is_due(None, NOW));
        assert_eq!(disk.look(0, NOW), Allowance { intake_bytes: Some(0), is_advance_held: true });
        assert!(!disk.is_due(Some(0), NOW), "there is no room until the next look");
    }
}
