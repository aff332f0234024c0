//! Changes of a group to accounts: money and usage, written once at the end of the group. One row per account, locked last; one entry per
//! charge; one row per day and model, one per day, model and API key, and one per quarter of an hour, which counts every end.

use std::collections::{BTreeMap, BTreeSet};

use overnight_base::planted_bugs::Bug;
use overnight_domain::money::{Credits, Pricing};
use overnight_domain::requests::RequestStatus;
use overnight_domain::scheduler::QueuePartition;

use crate::StoreError;
use crate::database::{Row, Tx};
use crate::ledger::activity::{self, Ended};
use crate::ledger::entries::{self, Charge};
use crate::ledger::spend::{self, Spent};
use crate::ledger::spend_by_key;
use crate::ledger::totals::{self, LockedAccount, Totals};

/// Hold and price point, fixed when the request was accepted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcceptedPrice {
    pub(crate) hold: i64,
    /// `None` if it is free.
    pub(crate) pricing: Option<Pricing>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Completed {
    pub(crate) partition: QueuePartition,
    pub(crate) request: i64,
    pub(crate) result: i64,
    pub(crate) api_key: Option<i64>,
    pub(crate) prompt_tokens: i64,
    pub(crate) completion_tokens: i64,
    pub(crate) now: i64,
}

#[derive(Debug, Default)]
pub(crate) struct LedgerDeltas {
    deltas: BTreeMap<i64, Totals>,
    charges: Vec<Charge>,
    spent: BTreeMap<spend::Key, Spent>,
    spent_by_key: BTreeMap<spend_by_key::Key, Spent>,
    ended: BTreeMap<activity::Key, Ended>,
    shortfall: i64,
    accepted: u64,
    is_locked: bool,
}

impl AcceptedPrice {
    /// Reads `hold, input, output`, the last two of `price_points`.
    pub(crate) fn read(row: &Row) -> Result<Self, StoreError> {
        let (input, output) = (row.get::<Option<Credits>>("input")?, row.get::<Option<Credits>>("output")?);
        let pricing = input.zip(output).map(|(input, output)| Pricing { input, output });
        Ok(Self { hold: row.get::<Option<i64>>("hold")?.unwrap_or(0), pricing })
    }
}

impl LedgerDeltas {
    pub(crate) fn accept(&mut self, account: i64, hold: i64, bytes: i64) {
        self.accepted += 1;
        self.add_delta(account, Totals { balance: 0, held: hold, live_requests: 1, stored_bytes: bytes });
    }

    /// `bytes` may be negative.
    pub(crate) fn store_bytes(&mut self, account: i64, bytes: i64) {
        self.add_delta(account, Totals { stored_bytes: bytes, ..Totals::default() });
    }

    /// For a request that failed or was cancelled.
    pub(crate) fn release(&mut self, account: i64, hold: i64, status: RequestStatus, now: i64) {
        let hold = if Bug::HoldKept.is_planted() && status == RequestStatus::Cancelled { 0 } else { hold };
        self.add_delta(account, Totals { held: -hold, live_requests: -1, ..Totals::default() });
        self.ended.entry(activity::Key::new(account, now)).or_default().add_without_charge(status, now);
    }

    /// Charges a completed request, and releases its hold.
    pub(crate) fn capture(&mut self, completed: Completed, accepted: AcceptedPrice) {
        let Completed { partition, request, result, api_key, prompt_tokens, completion_tokens, now } =
            completed;
        let tokens = (prompt_tokens.max(0).unsigned_abs(), completion_tokens.max(0).unsigned_abs());
        let (account, hold) = (partition.account.0, Credits::from_nanos(accepted.hold));
        let mut amount = 0;
        if let Some(pricing) = accepted.pricing {
            let (charge, shortfall) = pricing.capture(hold, tokens.0, tokens.1);
            amount = charge.nanos();
            self.shortfall = self.shortfall.saturating_add(shortfall.nanos());
            self.charges.push(Charge { partition, request, result, amount, now });
        }
        let totals = Totals { balance: -amount, held: -accepted.hold, live_requests: -1, stored_bytes: 0 };
        self.add_delta(account, totals);
        let spent = Spent { requests: 1, prompt_tokens, completion_tokens, amount };
        let day = spend::Key::new(partition, now);
        self.spent.entry(day).or_default().add(&spent);
        if let Some(api_key) = api_key {
            self.spent_by_key.entry(spend_by_key::Key { of: day, api_key }).or_default().add(&spent);
        }
        self.ended.entry(activity::Key::new(account, now)).or_default().add_completed(&spent, now);
    }

    fn add_delta(&mut self, account: i64, by: Totals) {
        if by != Totals::default() {
            self.deltas.entry(account).or_default().add(by);
        }
    }

    /// Reads the accounts' totals, with this group's changes, and locks them and all accounts that the group has changed until the
    /// transaction ends.
    pub(crate) async fn totals(
        &mut self,
        accounts: BTreeSet<i64>,
        tx: &mut Tx<'_>,
    ) -> Result<BTreeMap<i64, LockedAccount>, StoreError> {
        let all: BTreeSet<i64> = accounts.into_iter().chain(self.deltas.keys().copied()).collect();
        let mut locked = totals::lock(&all, tx).await?;
        self.is_locked = true;
        for (account, delta) in &self.deltas {
            if let Some(account) = locked.get_mut(account) {
                account.totals.add(*delta);
            }
        }
        Ok(locked)
    }

    /// Must be the last write of a transaction.
    pub(crate) async fn write(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        if !self.charges.is_empty() {
            entries::insert_charges(&self.charges, tx).await?;
        }
        if !self.deltas.is_empty() {
            if !self.is_locked {
                totals::lock_only(self.deltas.keys().copied(), tx).await?;
            }
            totals::apply(&self.deltas, tx).await?;
        }
        if !self.spent.is_empty() {
            spend::add(&self.spent, tx).await?;
        }
        if !self.spent_by_key.is_empty() {
            spend_by_key::add(&self.spent_by_key, tx).await?;
        }
        if !self.ended.is_empty() {
            activity::add(&self.ended, tx).await?;
        }
        Ok(())
    }

    /// Counts accepted and ended requests and charges in the metrics, once they are durable.
    pub(crate) fn count(&self) {
        metrics::counter!("overnight_requests_accepted_total").increment(self.accepted);
        for (outcome, count) in self.ended.values().flat_map(Ended::outcomes).filter(|(_, count)| *count > 0)
        {
            metrics::counter!("overnight_requests_ended_total", "outcome" => outcome)
                .increment(count.unsigned_abs());
        }
        let count = |name: &'static str, nanos: i64| {
            if nanos > 0 {
                metrics::counter!(name).increment(nanos.unsigned_abs());
            }
        };
        count("overnight_charged_nanocredits_total", self.spent.values().map(|spent| spent.amount).sum());
        count("overnight_shortfall_nanocredits_total", self.shortfall);
    }
}
