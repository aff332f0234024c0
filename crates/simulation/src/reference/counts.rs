//! Counts of what happened in sequences. A count of 0 means that a behaviour was not tested.

use std::collections::BTreeMap;

use super::tables::{Model, State};
use super::writes::{Answer, Asked, Write};

/// What must happen in at least one sequence.
const KINDS: [&str; 17] = [
    "creates refused by a quota",
    "creates refused for want of credits",
    "groups refused for a request that has a batch",
    "cancels that came too late",
    "cancels of batches",
    "cancels of batches that came too late",
    "settles",
    "failures",
    "writes under a lease that was over",
    "leases refused to a removed node",
    "leases reclaimed",
    "expiries",
    "expiries of leased requests",
    "cancels of leased requests",
    "groups of several writes",
    "crashes that lost a group",
    "crashes that kept a group",
];

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub sequences: u64,
    /// Writes that were answered as in the model.
    pub operations: u64,
    happened: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// The counts of a sequence at its beginning.
    pub(super) fn of_one() -> Self {
        Self { sequences: 1, ..Self::default() }
    }

    /// What should have happened and did not. On SQLite no node outlives its removal.
    pub fn missing(&self) -> Vec<&'static str> {
        KINDS.into_iter().filter(|kind| !self.happened.contains_key(kind)).collect()
    }

    pub fn add(&mut self, other: &Self) {
        self.sequences += other.sequences;
        self.operations += other.operations;
        for (kind, count) in &other.happened {
            *self.happened.entry(kind).or_default() += count;
        }
    }

    fn count(&mut self, kind: &'static str, count: usize) {
        if count > 0 {
            *self.happened.entry(kind).or_default() += count as u64;
        }
    }

    pub(super) fn note_before(&mut self, group: &[Asked], node: u64, model: &Model) {
        self.operations += group.len() as u64;
        self.count("groups of several writes", usize::from(group.len() > 1));
        let is_leased = |request: usize| matches!(model.requests[&request].state, State::Leased(_));
        for Asked { at, write } in group {
            match write {
                Write::Cancel { request } => {
                    self.count("cancels of leased requests", usize::from(is_leased(*request)));
                }
                Write::Expire { .. } => {
                    let overdue = model.requests.iter().filter(|(_, request)| request.new.deadline <= *at);
                    let overdue = overdue.filter(|(_, request)| request.is_live());
                    self.count("expiries", overdue.clone().count());
                    self.count(
                        "expiries of leased requests",
                        overdue.filter(|(name, _)| is_leased(**name)).count(),
                    );
                }
                Write::Lease { requests, .. } if !model.nodes.contains(&node) => {
                    let waits = requests.iter().filter(|it| model.requests[it].state == State::Waiting);
                    self.count("leases refused to a removed node", waits.count());
                }
                Write::Settle(ends) => {
                    let held = ends.iter().filter(|end| model.is_held(end.lease, Some(node)));
                    let completed = held.clone().filter(|end| end.tokens.is_some()).count();
                    self.count("settles", completed);
                    self.count("failures", held.count() - completed);
                }
                _ => {}
            }
        }
    }

    pub(super) fn note(&mut self, answer: &Answer) {
        match answer {
            Answer::OverQuota => self.count("creates refused by a quota", 1),
            Answer::InsufficientCredits { .. } => self.count("creates refused for want of credits", 1),
            Answer::Changed => self.count("groups refused for a request that has a batch", 1),
            Answer::AlreadyEnded(_) => self.count("cancels that came too late", 1),
            Answer::Marked => self.count("cancels of batches", 1),
            Answer::BatchCompleted => self.count("cancels of batches that came too late", 1),
            Answer::Held(held) => {
                self.count("writes under a lease that was over", held.iter().filter(|held| !**held).count());
            }
            Answer::Reclaimed(count) => self.count("leases reclaimed", usize::try_from(*count).unwrap_or(0)),
            _ => {}
        }
    }

    pub(super) fn note_crash(&mut self, has_group: bool, after_commit: bool) {
        let kind = if after_commit { "crashes that kept a group" } else { "crashes that lost a group" };
        self.count(kind, usize::from(has_group));
    }
}
