//! Slot time without a result. A request that hangs costs as little as any other of its length, but keeps its slot until it times out:
//! judged by cost, an account of such requests would have nearly all slots. So its account owes what completed requests use in as much
//! time, and leases no requests until enough rounds have paid for it.
//!
//! The account waits only while others have use for the slots: otherwise rounds pass immediately and pay, and a slot beyond the share of
//! the others is lent without paying.

use super::Scheduler;
use super::leases_held::HeldLease;

impl Scheduler {
    /// A request kept its slot until `until` without completing, and its engine works.
    pub(super) fn charge_slot_time(&mut self, held: &HeldLease, until: i64) {
        let partition = held.lease.key.partition;
        let model = self.model(partition.model);
        let worth = model.used.used_in(until.saturating_sub(held.sent_at)).unwrap_or(0);
        let beyond = worth.saturating_sub(held.bounds.of(held.cost)).max(0);
        model.adjust(partition.account, |it| it.owed_time = it.owed_time.saturating_add(beyond));
    }

    /// The same for a request in flight that was ended by somebody else. Its engine works if it completed another one meanwhile.
    pub(super) fn charge_dropped(&mut self, held: &HeldLease, now: i64) {
        let completed_at = self.replicas.get(&held.replica).map(|it| it.completed_at);
        if completed_at.is_some_and(|at| at > held.sent_at) {
            self.charge_slot_time(held, now);
        }
    }
}
