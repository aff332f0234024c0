//! What the scheduler asks of the store, and the store's answers as the scheduler's next inputs. The service and the
//! simulation both act through here.

use overnight_domain::scheduler::{SchedulerCommand, SchedulerInput};

use crate::app::failures;
use crate::store::queue::leases;
use crate::store::queue::leases::ReleaseLease;
use crate::store::queue::releases;
use crate::store::queue::settle;
use crate::store::queue::settle::Settlement;
use crate::store::queue::{self, KeyRange};
use crate::store::{Store, StoreError};

/// Whether a command is the store's, and not the engines' or the clock's.
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

/// The name of a command in the log.
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

/// Does one of the store's commands at `now`; what the scheduler is to be told of it, if anything.
pub async fn perform(store: &Store, command: SchedulerCommand, now: i64) -> Option<SchedulerInput> {
    match attempt(store, &command, now).await {
        Ok(answer) => answer,
        Err(StoreError::Stopped) => None,
        // It lasts until the disk has room, and the writer says when it begins and ends.
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

/// Counts a write that was fenced off: its lease was no longer held, so it changed nothing.
pub(super) fn count_fenced_write(was_held: bool) {
    if !was_held {
        metrics::counter!("overnight_fenced_writes_total").increment(1);
    }
}
