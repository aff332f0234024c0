//! Time of slots that brought nothing. A request that hangs costs as little as any other of its length, but keeps its slot until it
//! times out: by cost alone, an account of such requests would have nearly all slots. So its account owes what completed requests use
//! in as much time, and leases nothing until as many rounds have paid for that as its part is worth.
//!
//! Nobody waits for that longer than others have use for the slots: where none does, rounds pass at once and pay, and a slot beyond the
//! share of the others is lent without paying.

use super::Scheduler;
use super::leases_held::HeldLease;

impl Scheduler {
    /// A request kept its slot until `until` and was not completed, and its engine works.
    pub(super) fn charge_slot_time(&mut self, held: &HeldLease, until: i64) {
        let partition = held.lease.key.partition;
        let model = self.model(partition.model);
        let worth = model.used.used_in(until.saturating_sub(held.sent_at)).unwrap_or(0);
        let beyond = worth.saturating_sub(held.bounds.of(held.cost)).max(0);
        model.adjust(partition.account, |it| it.owed_time = it.owed_time.saturating_add(beyond));
    }

    /// The same for a request that was ended by somebody else in flight. Its engine works if it completed another one meanwhile.
    pub(super) fn charge_dropped(&mut self, held: &HeldLease, now: i64) {
        let completed_at = self.replicas.get(&held.replica).map(|it| it.completed_at);
        if completed_at.is_some_and(|at| at > held.sent_at) {
            self.charge_slot_time(held, now);
        }
    }
}
