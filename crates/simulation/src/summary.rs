//! What a run went through: shows that its checks had something to check.

use std::fmt;
use std::ops::AddAssign;

macro_rules! summary {
    ($($(#[$doc:meta])* $field:ident: $words:literal,)*) => {
        /// Counts of a run, or the sums of several.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Summary {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl AddAssign for Summary {
            fn add_assign(&mut self, other: Self) {
                $(self.$field = self.$field.wrapping_add(other.$field);)*
            }
        }

        impl fmt::Display for Summary {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let counts = [$(format!(concat!("{} ", $words), self.$field),)*];
                formatter.write_str(&counts.join(", "))
            }
        }
    };
}

summary! {
    steps: "steps",
    /// Groups of writes that were committed.
    commits: "commits",
    requests: "requests",
    /// Of those, the ones that completed.
    completed: "completed",
    /// Of those, the ones that failed for another reason than their deadline.
    failed: "failed",
    /// Of those, the ones that expired.
    expired: "expired",
    /// Of those, the ones that were cancelled.
    cancelled: "cancelled",
    /// Creates that were refused because their account could not pay.
    creates_refused: "creates refused",
    batches: "batches",
    /// Batches that were refused because another had taken a request.
    batches_refused: "batches refused",
    files: "files",
    /// Uploads that a crash or a stop interrupted.
    uploads_interrupted: "uploads interrupted",
    /// Uploads that their clients began anew because they took too long.
    uploads_late: "uploads too late",
    file_batches: "batches of files",
    /// Of those, the ones that failed for a bad line.
    file_batches_failed: "batches of bad files",
    /// Of those, the ones that were cancelled when some of their lines were requests, and some were not.
    half_filled_cancelled: "batches cancelled half filled",
    lines_filled: "lines filled",
    /// Times a crash or a stop interrupted the filling of an account's batches.
    fills_interrupted: "fills interrupted",
    /// Times the filling waited because the account could not pay.
    fills_unpaid: "fills that waited for credits",
    /// Files that were deleted while their batch was filled.
    files_deleted: "files deleted while their batch was filled",
    /// Requests whose deletion was answered.
    requests_deleted: "requests deleted",
    /// Batches whose deletion was answered.
    batches_deleted: "batches deleted",
    /// Deletions that nobody was told of and that were done.
    unheard_deletions_done: "unheard deletions done",
    /// Deletions that nobody was told of and that were not done.
    unheard_deletions_undone: "unheard deletions not done",
    /// Attempts at an engine that brought no result.
    attempts_failed: "attempts failed",
    pauses: "pauses",
    /// Cancels of single requests that came in time.
    cancels_won: "cancels won",
    /// Cancels of single requests that came too late.
    cancels_lost: "cancels lost",
    /// Cancels of whole batches that came in time.
    batch_cancels: "batch cancels",
    /// Answers that came for a request that had ended otherwise.
    answers_outrun: "answers outrun",
    /// Writes under a lease that was over, each refused.
    fenced_writes: "fenced writes",
    /// Crashes after a group was written and before it was committed.
    crashes_before_commit: "crashes before a commit",
    /// Crashes after a group was committed and before anybody was told.
    crashes_after_commit: "crashes after a commit",
    /// Crashes with nothing in the writer's line.
    crashes_idle: "crashes while idle",
    /// Creates that nobody was told of and that were done.
    unheard_done: "unheard creates stored",
    /// Creates that nobody was told of and that were not done.
    unheard_undone: "unheard creates not stored",
    /// Repeats sent before the first answer, and written in one group with the first.
    repeats_beside: "repeats beside the first",
    /// Repeats of what had been answered.
    repeats_of_answered: "repeats of answered calls",
    /// Repeats of what was done before a crash that took the answer.
    repeats_of_unheard: "repeats of unheard calls",
    /// Repeats that did what a crash had prevented.
    repeats_undone: "repeats of undone calls",
    /// Repeats that did what had been refused.
    repeats_of_refused: "repeats of refused calls",
    /// Repeats of batches that were answered what the first call was.
    batch_repeats: "batch repeats",
    /// Other calls with the key of one that had been done, each refused.
    keys_reused: "keys reused",
    /// Other calls with the key of one that was under way, each refused.
    keys_reused_beside: "keys reused beside the first",
    events_delivered: "events delivered",
    events_exhausted: "events exhausted",
    restarts: "restarts",
    /// Times the clock was set forward.
    jumps_forward: "clock jumps forward",
    jumps_back: "clock jumps back",
    /// Requests that came after the clock was set and were looked at seconds later.
    prompt: "released promptly after a jump",
    /// Of those, the ones for which an engine was free.
    prompt_sent: "sent promptly after a jump",
    /// Audits, each without a breach.
    audits: "audits",
}
