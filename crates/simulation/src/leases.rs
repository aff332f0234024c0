//! Leases that are known to have ended, by acknowledged writes only.

use std::collections::BTreeMap;

use overnight_domain::scheduler::Lease;

use super::broken::{Step, ensure};

#[derive(Debug, Clone, Copy)]
struct Known {
    epoch: i64,
    is_over: bool,
}

#[derive(Debug, Default)]
pub(super) struct Leases(BTreeMap<i64, Known>);

impl Leases {
    /// Fails unless the lease raises the epoch.
    pub(super) fn take(&mut self, lease: &Lease) -> Step {
        let seq = lease.key.position.seq;
        let known = Known { epoch: lease.epoch, is_over: false };
        if let Some(before) = self.0.insert(seq, known) {
            ensure!(before.epoch < lease.epoch, "seq {seq} was leased twice under epoch {}", lease.epoch);
        }
        Ok(())
    }

    pub(super) fn end(&mut self, lease: &Lease) {
        if let Some(known) = self.0.get_mut(&lease.key.position.seq)
            && known.epoch == lease.epoch
        {
            known.is_over = true;
        }
    }

    pub(super) fn end_all(&mut self) {
        self.0.values_mut().for_each(|known| known.is_over = true);
    }

    /// Whether a write under this lease must have no effect.
    pub(super) fn is_over(&self, lease: &Lease) -> bool {
        self.0
            .get(&lease.key.position.seq)
            .is_some_and(|known| known.epoch > lease.epoch || known.epoch == lease.epoch && known.is_over)
    }
}
