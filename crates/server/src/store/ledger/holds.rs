//! Holds: a request is taken in only where its account can pay the most that it may cost, and that much is set aside
//! for it until it ends.

use std::collections::BTreeSet;

use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::store::StoreError;
use crate::store::ledger::prices::PriceKey;
use crate::store::writer::Unit;

/// What a request is to hold, and the price that is pinned with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The most that it may cost.
    pub amount: Credits,
    /// What its tokens cost.
    pub price: PriceKey,
}

/// Whether a request was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is stored, and holds what it was to hold.
    Taken,
    /// Its account has not enough; nothing was stored.
    Refused {
        /// What it was to hold.
        required: Credits,
        /// What its account had for it.
        available: Credits,
    },
}

/// Decides about each of these, which are to be taken in for their accounts, in the order of arrival; and holds for those
/// taken.
pub(in crate::store) async fn admit(
    arrivals: &[(AccountKey, Option<Hold>)],
    unit: &mut Unit<'_>,
) -> Result<Vec<Admission>, StoreError> {
    let priced = arrivals.iter().filter(|(_, hold)| hold.is_some());
    let accounts: BTreeSet<i64> = priced.map(|(account, _)| account.0).collect();
    if accounts.is_empty() {
        return Ok(vec![Admission::Taken; arrivals.len()]);
    }
    let mut available = unit.books.available(accounts, &mut unit.tx).await?;
    let mut admissions = Vec::with_capacity(arrivals.len());
    for (AccountKey(account), hold) in arrivals {
        let Some(Hold { amount: required, .. }) = *hold else {
            admissions.push(Admission::Taken);
            continue;
        };
        let left = available.get_mut(account).ok_or(StoreError::Damaged("an account with a key"))?;
        admissions.push(if *left >= required.nanos() {
            *left -= required.nanos();
            unit.books.hold(*account, required.nanos());
            Admission::Taken
        } else {
            Admission::Refused { required, available: Credits::from_nanos(*left) }
        });
    }
    Ok(admissions)
}
