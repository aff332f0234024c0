//! Whose fault is it? A failure that may be the request's or the replica's keeps its slot until evidence comes, so that an
//! account which provokes failures holds up nobody else's requests, and an engine that fails everything holds at most its slots.
//!
//! The replica works, and the attempt counts against its request, where the replica then completes another request or a probe
//! that began after the failure. The replica is at fault, and no attempt counts, where that probe fails. The number of
//! failures is no evidence: whoever sends enough requests can bring about any number, from several accounts too.
//!
//! A connection that broke may mean that the replica died, and anything that ran there may be why. Where the probe fails, or
//! several connections broke and none was left (it died and came back before the probe), what broke becomes suspect, uncounted. A
//! suspect runs alone: if its connection breaks again, that counts and it stays a suspect, so that a request that kills
//! its engine uses its attempts up without harming neighbours. Any other outcome of a run alone ends the suspicion.

use super::Scheduler;
use super::attempts::{Failure, Trouble};
use super::leases_held::{Doubt, Stage};
use super::messages::{FailureCode, ReplicaKey};

/// What is known of a replica when a doubt is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// It works.
    Works,
    /// It does not, or did not when the connection broke.
    Died,
    /// Nothing, and nothing will be.
    Unknown,
}

impl Scheduler {
    /// An attempt failed, and whose fault it is cannot be told from the error alone.
    pub(super) fn doubt(&mut self, seq: i64, key: ReplicaKey, failure: Failure, now: i64) {
        let Some(replica) = self.replicas.get_mut(&key) else { return };
        let Some(held) = self.leases_held.get_mut(&seq) else { return };
        let was_alone = replica.alone == Some(seq);
        replica.in_flight.remove(&seq);
        replica.doubts.push(seq);
        held.stage = Stage::Doubted;
        replica.broken += usize::from(failure.may_be_a_death());
        held.doubt = Some(Doubt { failure, was_alone });
        self.touched.insert(key);
        if replica.breaker.is_open() {
            self.settle_doubt(seq, Evidence::Died, now);
        }
    }

    /// The replica completed a request: what failed there before was no fault of its. Refusals still wait for the probe:
    /// a key that was revoked fails later requests, not those that were under way.
    pub(super) fn acquit(&mut self, key: ReplicaKey, now: i64) {
        let is_refused = |failure: &Failure| failure.trouble == Trouble::Refused;
        for seq in self.doubts(key, |failure| !is_refused(failure)) {
            self.settle_doubt(seq, Evidence::Works, now);
        }
    }

    /// The replica's doubts whose failure is such, in the order of their coming.
    pub(super) fn doubts(&self, key: ReplicaKey, is_such: impl Fn(&Failure) -> bool) -> Vec<i64> {
        let Some(replica) = self.replicas.get(&key) else { return Vec::new() };
        let failure = |seq| self.leases_held.get(seq).and_then(|held| held.doubt.as_ref());
        let such = replica.doubts.iter().filter(|seq| failure(seq).is_some_and(|it| is_such(&it.failure)));
        such.copied().collect()
    }

    /// Settles every doubt of a replica in the same way.
    pub(super) fn settle_doubts(&mut self, key: ReplicaKey, evidence: Evidence, now: i64) {
        for seq in self.doubts(key, |_| true) {
            self.settle_doubt(seq, evidence, now);
        }
    }

    /// Whose fault a failure was is known as well as it will be.
    pub(super) fn settle_doubt(&mut self, seq: i64, evidence: Evidence, now: i64) {
        let Some(mut held) = self.let_go(seq) else { return };
        let Some(Doubt { failure, was_alone }) = held.doubt.take() else { return };
        let may_be_a_death = failure.may_be_a_death();
        let killed_alone = was_alone && held.suspect && may_be_a_death;
        match (evidence, failure.trouble) {
            (Evidence::Works, Trouble::Refused) => {
                let attempt = failure.attempt(now);
                self.fail(held, FailureCode::EngineRejected, failure.detail, attempt);
            }
            (Evidence::Works, _) => {
                self.count_attempt(held, &failure, was_alone && may_be_a_death, now);
            }
            (Evidence::Died | Evidence::Unknown, Trouble::Refused) => {
                let mark = held.unchanged();
                self.release_lease(held, now, mark, now);
            }
            (Evidence::Died, _) if killed_alone => self.count_attempt(held, &failure, true, now),
            (Evidence::Died, _) => self.excuse_attempt(held, may_be_a_death, now),
            (Evidence::Unknown, _) => {
                let suspect = held.suspect;
                self.excuse_attempt(held, suspect, now);
            }
        }
    }
}
