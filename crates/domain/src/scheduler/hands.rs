//! The requests this scheduler holds a lease of.

use super::door::{Candidate, Lease, ReplicaKey};

/// Where a leased request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for a free slot.
    Buffered,
    /// It was sent.
    InFlight,
    /// Its connection broke amid others: shortly, it is known whether the replica died.
    Broken,
    /// The engine refused it, and the replica's own probe is to say whose fault that is. It keeps its slot.
    Doubted,
}

/// A leased request.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) lease: Lease,
    pub(super) replica: ReplicaKey,
    pub(super) stage: Stage,
    /// What its account was charged.
    pub(super) cost: i64,
    /// Attempts counted before this one.
    pub(super) attempts: u32,
    /// It must run alone.
    pub(super) suspect: bool,
    /// What the engine answered, while doubted: the status and its words.
    pub(super) refusal: Option<(u16, String)>,
}

impl Held {
    /// A lease that was just taken.
    pub(super) fn new(lease: Lease, replica: ReplicaKey, seen: &Candidate) -> Self {
        Self {
            lease,
            replica,
            stage: Stage::Buffered,
            cost: seen.cost.max(1),
            attempts: seen.attempts,
            suspect: seen.suspect,
            refusal: None,
        }
    }

    pub(super) const fn seq(&self) -> i64 {
        self.lease.key.position.seq
    }
}
