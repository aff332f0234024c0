//! Counts of a run, which show that its checks were exercised.

use std::fmt;
use std::ops::AddAssign;

macro_rules! summary {
    ($($(#[$doc:meta])* $field:ident: $words:literal,)*) => {
        /// Counts of one run, or sums of several.
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
    commits: "commits",
    requests: "requests",
    /// Of `requests`.
    completed: "completed",
    /// Of `requests`, for another reason than their deadline.
    failed: "failed",
    /// Of `requests`.
    expired: "expired",
    cancelled: "cancelled",
    /// The account could not pay.
    creates_refused: "creates refused",
    batches: "batches",
    /// Another batch had taken a request.
    batches_refused: "batches refused",
    files: "files",
    /// By a crash or a stop.
    uploads_interrupted: "uploads interrupted",
    /// Restarted by their clients because they took too long.
    uploads_late: "uploads too late",
    file_batches: "batches of files",
    /// Of those, the ones that failed for an invalid line.
    file_batches_failed: "batches of bad files",
    /// Of those, cancelled when only some of their lines were requests.
    half_filled_cancelled: "batches cancelled half filled",
    lines_filled: "lines filled",
    /// Fills of an account's batches that a crash or a stop interrupted.
    fills_interrupted: "fills interrupted",
    fills_unpaid: "fills that waited for credits",
    files_deleted: "files deleted while their batch was filled",
    requests_deleted: "requests deleted",
    batches_deleted: "batches deleted",
    unheard_deletions_done: "unheard deletions done",
    unheard_deletions_undone: "unheard deletions not done",
    attempts_failed: "attempts failed",
    pauses: "pauses",
    /// Cancels of single requests that came in time.
    cancels_won: "cancels won",
    /// Cancels of single requests that came too late.
    cancels_lost: "cancels lost",
    batch_cancels: "batch cancels",
    /// Answers to a request that had ended otherwise.
    answers_outrun: "answers outrun",
    fenced_writes: "fenced writes",
    /// After a group was written, before it was committed.
    crashes_before_commit: "crashes before a commit",
    /// After a group was committed, before any caller was told.
    crashes_after_commit: "crashes after a commit",
    crashes_idle: "crashes while idle",
    unheard_done: "unheard creates stored",
    unheard_undone: "unheard creates not stored",
    /// Repeats sent before the first answer, and written in one group with the first call.
    repeats_beside: "repeats beside the first",
    repeats_of_answered: "repeats of answered calls",
    /// Repeats of calls whose answer a crash lost.
    repeats_of_unheard: "repeats of unheard calls",
    /// Repeats that did what a crash had prevented.
    repeats_undone: "repeats of undone calls",
    repeats_of_refused: "repeats of refused calls",
    /// Repeats of batches that got the answer of the first call.
    batch_repeats: "batch repeats",
    /// Other calls with the key of a finished call, each refused.
    keys_reused: "keys reused",
    /// Other calls with the key of a call in progress, each refused.
    keys_reused_beside: "keys reused beside the first",
    events_delivered: "events delivered",
    events_exhausted: "events exhausted",
    restarts: "restarts",
    jumps_forward: "clock jumps forward",
    jumps_back: "clock jumps back",
    /// Requests sent after the clock was set and checked seconds later.
    prompt: "released promptly after a jump",
    /// Of those, the ones for which an engine was free.
    prompt_sent: "sent promptly after a jump",
    audits: "audits",
}
