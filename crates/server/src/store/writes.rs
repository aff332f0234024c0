//! The writes that are grouped, in the order in which a group does them.

/// When a group does a write: one of each operation, whose `impl Operation` stands in the file of its noun (`Settle` in
/// `queue/settle/mod.rs`, `NewRequest` in `requests/insert.rs`). The writer knows no operation, and no operation another.
///
/// Settles come before cancels, so that work that was done is kept. Intake comes last: a create reads what its account has,
/// with what this group releases, and locks accounts, which every node locks last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::store) enum WriteOrder {
    Heartbeat,
    Settle,
    CancelRequest,
    CancelBatch,
    CancelChunk,
    Expire,
    ReleaseLease,
    ReclaimLeases,
    LeaseRun,
    RecordAttemptResults,
    ClaimEvents,
    ClaimReplicas,
    NoteKeyUses,
    ReportEngines,
    ReleaseAll,
    Release,
    NewBatch,
    NewRequest,
}
