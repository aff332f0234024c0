//! The credits and quotas of the accounts of a group's creates, locked until the transaction ends.
//!
//! An account is checked again when something is written, because a call is admitted once and may run for hours. The transaction locks the
//! row of the account anyway, and refuses if it is suspended or closed (here and in `totals::lock_open`); lines of a bulk create and pages
//! of a followed batch check the key again (`calls::check_again`).

use std::collections::BTreeMap;

use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, QuotaExceeded, Quotas, Usage};
use overnight_domain::scheduler::AccountKey;

use super::LedgerDeltas;
use crate::StoreError;
use crate::database::Tx;
use crate::ledger::holds::{Admission, Hold};
use crate::ledger::spend;
use crate::ledger::totals::{LockedAccount, Totals};

pub(crate) struct Accounts(BTreeMap<i64, Account>);

struct Account {
    available: i64,
    usage: Usage,
    quotas: Quotas,
    is_suspended: bool,
    is_closed: bool,
}

impl Accounts {
    /// Each with the time of its create. Every node locks accounts last.
    pub(crate) async fn lock(
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

    /// Whether the account's keys and members may make no changes, whenever they were admitted.
    pub(crate) fn is_suspended(&mut self, account: i64) -> Result<bool, StoreError> {
        Ok(self.of(account)?.is_suspended)
    }

    /// Whether the account accepts no more work.
    pub(crate) fn is_closed(&mut self, account: i64) -> Result<bool, StoreError> {
        Ok(self.of(account)?.is_closed)
    }

    /// Decides on a new request of `bytes`; an admitted one counts for the next.
    pub(crate) fn admit_request(
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

    /// Decides on a request that was asked for before.
    pub(crate) fn admit(
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

    /// Whether the account can pay `required`, without holding it.
    pub(crate) fn check_hold(&mut self, account: i64, required: Credits) -> Result<Admission, StoreError> {
        let available = Credits::from_nanos(self.of(account)?.available);
        if required > Credits::ZERO && available < required {
            return Ok(Admission::InsufficientCredits { required, available });
        }
        Ok(Admission::Taken)
    }

    /// Decides on bytes that are not a request; admitted ones count for the next. The inner error is the quota.
    pub(crate) fn admit_bytes(
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
