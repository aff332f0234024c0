//! The scheduler's commands to the store, and the answers as its next inputs. The service and the simulation share this.

use overnight_app::failures;
use overnight_domain::scheduler::{SchedulerCommand, SchedulerInput};
use overnight_store::queue::leases;
use overnight_store::queue::leases::ReleaseLease;
use overnight_store::queue::releases;
use overnight_store::queue::settle;
use overnight_store::queue::settle::Settlement;
use overnight_store::queue::{self, KeyRange};
use overnight_store::{Store, StoreError};

/// Whether a command is for the store, and not for engines or the clock.
pub const fn is_for_store(command: &SchedulerCommand) -> bool {
    matches!(
        command,
        SchedulerCommand::Release { .. }
            | SchedulerCommand::Scan { .. }
            | SchedulerCommand::CountDeadlines { .. }
            | SchedulerCommand::Lease { .. }
            | SchedulerCommand::ReleaseLease { .. }
            | SchedulerCommand::Fail { .. }
    )
}

pub(super) const fn name(command: &SchedulerCommand) -> &'static str {
    match command {
        SchedulerCommand::Release { .. } => "a release",
        SchedulerCommand::Scan { .. } => "a scan",
        SchedulerCommand::CountDeadlines { .. } => "a count of deadlines",
        SchedulerCommand::Lease { .. } => "a lease",
        SchedulerCommand::ReleaseLease { .. } => "the release of a lease",
        SchedulerCommand::Fail { .. } => "the failure of a request",
        _ => "a command",
    }
}

/// Executes a command of the store; returns the scheduler's input, if any.
pub async fn perform(store: &Store, command: SchedulerCommand, now: i64) -> Option<SchedulerInput> {
    match attempt(store, &command, now).await {
        Ok(answer) => answer,
        Err(StoreError::Stopped) => None,
        // It lasts until the disk has room; the writer logs its beginning and end.
        Err(StoreError::DiskReserved) => Some(SchedulerInput::Undone(command)),
        Err(error) => {
            tracing::warn!(%error, ?command, "scheduler command failed at the store; will retry");
            Some(SchedulerInput::Undone(command))
        }
    }
}

async fn attempt(
    store: &Store,
    command: &SchedulerCommand,
    now: i64,
) -> Result<Option<SchedulerInput>, StoreError> {
    match command {
        SchedulerCommand::Release { limit } => {
            let released = releases::release(store, now, *limit).await?;
            Ok(Some(SchedulerInput::Released {
                added: released.added,
                next_ready_at: released.next_ready_at,
            }))
        }
        SchedulerCommand::Scan { partition, scan, replica, after, until, limit } => {
            let range = KeyRange { after: after.as_ref(), until: until.as_ref() };
            let (candidates, reached_end) =
                queue::look(store, *partition, *replica, range, *limit, now).await?;
            Ok(Some(SchedulerInput::Candidates {
                partition: *partition,
                scan: *scan,
                candidates,
                reached_end,
            }))
        }
        SchedulerCommand::CountDeadlines { partition, step_ms } => {
            let (steps, segments) = queue::deadlines::count(store, *partition, *step_ms, now).await?;
            Ok(Some(SchedulerInput::Deadlines { partition: *partition, steps, segments }))
        }
        SchedulerCommand::Lease { replica, partition, positions } => {
            let leased = leases::take(store, *partition, positions.clone(), now).await?;
            Ok(Some(SchedulerInput::Leased {
                replica: *replica,
                partition: *partition,
                leases: leased.leases,
                gone: leased.gone,
            }))
        }
        SchedulerCommand::ReleaseLease { lease, retry_at, attempt, suspect, .. } => {
            let release = ReleaseLease {
                lease: lease.clone(),
                retry_at: *retry_at,
                attempt: attempt.clone(),
                suspect: *suspect,
            };
            count_fenced_write(leases::release_lease(store, release).await?);
            Ok(None)
        }
        SchedulerCommand::Fail { lease, code, message, attempt, .. } => {
            let body = failures::result_body(*code, message);
            let settlement = Settlement::failed(lease.clone(), body.into(), attempt.clone(), now);
            count_fenced_write(settle::settle(store, settlement).await?);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Counts a fenced write: its lease was no longer held, so it changed nothing.
pub(super) fn count_fenced_write(was_held: bool) {
    if !was_held {
        metrics::counter!("overnight_fenced_writes_total").increment(1);
    }
}
