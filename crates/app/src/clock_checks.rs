//! Checks of the clock at start, and the response to changes of the clock.

use std::path::Path;
use std::time::UNIX_EPOCH;

use overnight_config::{Config, Millis};
use overnight_store::waits::{self, ClockMove};
use overnight_store::{Store, StoreError};

use crate::Services;

/// The allowed difference between clocks of nodes, in milliseconds.
pub(crate) const AHEAD_MS_MAX: i64 = 60_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockFault {
    /// The newest row is this many milliseconds later than the clock.
    BeforeNewestRow(i64),
    /// The program's build is this many milliseconds later than the clock.
    BeforeBuild(i64),
}

impl ClockFault {
    /// A lower bound of how far the clock is behind, in milliseconds.
    pub const fn behind_ms(self) -> i64 {
        match self {
            Self::BeforeNewestRow(ms) | Self::BeforeBuild(ms) => ms,
        }
    }

    /// Names the thing that is later than the clock.
    pub const fn what(self) -> &'static str {
        match self {
            Self::BeforeNewestRow(_) => "the newest row of the database was stored later",
            Self::BeforeBuild(_) => "the program was built later",
        }
    }
}

/// Compares a clock that shows `now` with the store, if there is one, and with the program's file.
pub async fn find_fault(store: Option<&Store>, now: i64) -> Result<Option<ClockFault>, StoreError> {
    let newest_at = match store {
        Some(store) => waits::newest_at(store).await?,
        None => None,
    };
    let built_at = std::env::current_exe().ok().and_then(|program| written_at(&program));
    Ok(fault(now, newest_at, built_at))
}

fn fault(now: i64, newest_at: Option<i64>, built_at: Option<i64>) -> Option<ClockFault> {
    let behind_ms = |at: i64| Some(at.saturating_sub(now)).filter(|ms| *ms > AHEAD_MS_MAX);
    let by_row = newest_at.and_then(behind_ms).map(ClockFault::BeforeNewestRow);
    by_row.or_else(|| built_at.and_then(behind_ms).map(ClockFault::BeforeBuild))
}

/// The modification time of a file, in milliseconds.
fn written_at(path: &Path) -> Option<i64> {
    let written = path.metadata().ok()?.modified().ok()?;
    i64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// At start: logs a fault of the clock, and limits waits that another clock stored.
pub async fn at_start(services: &Services) -> Result<(), StoreError> {
    let now = services.clock.now();
    let Some(fault) = find_fault(Some(&services.store), now).await? else { return Ok(()) };
    let (behind_seconds, reason) = (fault.behind_ms() / 1_000, fault.what());
    tracing::warn!(behind_seconds, reason, "the clock is behind; set it, best by NTP");
    let by_ms = match fault {
        ClockFault::BeforeNewestRow(behind_ms) => -behind_ms,
        ClockFault::BeforeBuild(_) => 0,
    };
    follow(services, by_ms).await
}

/// The clock jumped: stored waits end as if it had not, and ready requests are released immediately.
pub async fn follow(services: &Services, by_ms: i64) -> Result<(), StoreError> {
    let (now, config) = (services.clock.now(), services.config());
    waits::follow(&services.store, clock_move(now, by_ms, &config)).await?;
    services.signals.accepted(now, now);
    Ok(())
}

/// A clock that was set forward needs no correction of waits.
fn clock_move(now: i64, by_ms: i64, config: &Config) -> ClockMove {
    let longest_ms = config.webhooks.retries.iter().map(|Millis(ms)| *ms).max().unwrap_or(0);
    ClockMove {
        now,
        back_ms: by_ms.min(0).saturating_neg(),
        gathering_ms_max: config.aggregation_period.0,
        // Backoffs have up to a tenth of jitter.
        event_ms_max: longest_ms.saturating_add(longest_ms / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_the_newest_row_or_the_build_is_at_fault_and_a_small_difference_is_none() {
        const NOW: i64 = 1_750_000_000_000;
        let near = Some(NOW + AHEAD_MS_MAX);
        assert_eq!((fault(NOW, None, None), fault(NOW, near, near)), (None, None));
        let later = Some(NOW + 90_000);
        assert_eq!(fault(NOW, later, None), Some(ClockFault::BeforeNewestRow(90_000)));
        assert_eq!(fault(NOW, Some(NOW), later), Some(ClockFault::BeforeBuild(90_000)));
    }

    #[test]
    fn a_file_says_when_it_was_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(written_at(file.path()).is_some_and(|at| at > 1_750_000_000_000));
        assert_eq!(written_at(&file.path().join("absent")), None);
    }
}
