//! What the accounts of a group's creates may still take in: their credits and their quotas, locked until the transaction ends.
//!
//! An account is asked about again where something is written. A call is let in once, and may go on for hours. The transaction that
//! takes something in locks the row of its account anyway, and refuses where that is suspended or closed (`effects/accounts.rs`,
//! `totals::lock_open`); lines of a bulk create and pages of a followed batch look at the key again (`calls::check_again`).

use std::collections::BTreeMap;

use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, QuotaExceeded, Quotas, Usage};
use overnight_domain::scheduler::AccountKey;

use super::LedgerDeltas;
use crate::store::StoreError;
use crate::store::database::Tx;
use crate::store::ledger::holds::{Admission, Hold};
use crate::store::ledger::spend;
use crate::store::ledger::totals::{LockedAccount, Totals};

/// What some accounts have and use, and the quotas that apply to each.
pub(in crate::store) struct Accounts(BTreeMap<i64, Account>);

struct Account {
    available: i64,
    usage: Usage,
    quotas: Quotas,
    is_suspended: bool,
    is_closed: bool,
}

impl Accounts {
    /// Locks these accounts, each with the time of its create. Every node locks accounts last.
    pub(in crate::store) async fn lock(
        now: &BTreeMap<i64, i64>,
        defaults: &Quotas,
        ledger: &mut LedgerDeltas,
        tx: &mut Tx<'_>,
    ) -> Result<Self, StoreError> {
        let locked = ledger.totals(now.keys().copied().collect(), tx).await?;
        let mut accounts = BTreeMap::new();
        for (account, now) in now {
            let locked = locked.get(account).ok_or(StoreError::Damaged("an account with a key"))?;
            let LockedAccount { totals, quotas: own, is_suspended, is_closed } = *locked;
            let quotas = own.or(defaults);
            let tokens_today = match quotas.get(Quota::TokensPerDay) {
                Some(_) => spend::tokens_of_day_in(*account, spend::day_of(*now), tx).await?,
                None => 0,
            };
            let Totals { live_requests, stored_bytes, .. } = totals;
            let usage = Usage { stored_bytes, live_requests, tokens_today };
            let available = totals.available();
            accounts.insert(*account, Account { available, usage, quotas, is_suspended, is_closed });
        }
        Ok(Self(accounts))
    }

    /// Whether the keys and members of an account change nothing, however long ago they were let in.
    pub(in crate::store) fn is_suspended(&mut self, account: i64) -> Result<bool, StoreError> {
        Ok(self.of(account)?.is_suspended)
    }

    /// Whether nothing is ever taken in for an account again.
    pub(in crate::store) fn is_closed(&mut self, account: i64) -> Result<bool, StoreError> {
        Ok(self.of(account)?.is_closed)
    }

    /// Whether a request of so many bytes that a call asks for is taken in; if so, it counts for the next.
    pub(in crate::store) fn admit_request(
        &mut self,
        account: AccountKey,
        bytes: i64,
        hold: Option<Hold>,
        now: i64,
    ) -> Result<Admission, StoreError> {
        match self.is_suspended(account.0)? {
            true => Ok(Admission::Suspended),
            false => self.admit(account.0, bytes, hold, now),
        }
    }

    /// The same of what an account asked for before.
    pub(in crate::store) fn admit(
        &mut self,
        account: i64,
        bytes: i64,
        hold: Option<Hold>,
        now: i64,
    ) -> Result<Admission, StoreError> {
        let account = self.of(account)?;
        if let Err(exceeded) = account.usage.check(1, bytes, &account.quotas, now) {
            return Ok(Admission::OverQuota(exceeded));
        }
        if let Some(Hold { amount: required, .. }) = hold {
            if account.available < required.nanos() {
                let available = Credits::from_nanos(account.available);
                return Ok(Admission::InsufficientCredits { required, available });
            }
            account.available -= required.nanos();
        }
        account.usage.live_requests += 1;
        account.usage.stored_bytes += bytes;
        Ok(Admission::Taken)
    }

    /// Whether an account can pay so much, of which nothing is held yet.
    pub(in crate::store) fn check_hold(
        &mut self,
        account: i64,
        required: Credits,
    ) -> Result<Admission, StoreError> {
        let available = Credits::from_nanos(self.of(account)?.available);
        if required > Credits::ZERO && available < required {
            return Ok(Admission::InsufficientCredits { required, available });
        }
        Ok(Admission::Taken)
    }

    /// Whether so many bytes are taken in that are no request; if so, they count for the next. The inner error is the quota.
    pub(in crate::store) fn admit_bytes(
        &mut self,
        account: i64,
        bytes: i64,
        now: i64,
    ) -> Result<Result<(), QuotaExceeded>, StoreError> {
        let account = self.of(account)?;
        let applied = Quotas::default().with(Quota::StoredBytes, account.quotas.get(Quota::StoredBytes));
        let checked = account.usage.check(0, bytes, &applied, now);
        if checked.is_ok() {
            account.usage.stored_bytes += bytes;
        }
        Ok(checked)
    }

    fn of(&mut self, account: i64) -> Result<&mut Account, StoreError> {
        self.0.get_mut(&account).ok_or(StoreError::Damaged("a locked account"))
    }
}
