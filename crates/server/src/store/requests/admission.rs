//! Admission: a request is stored only where its account can pay the most that it may cost.

use std::collections::BTreeSet;

use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::store::StoreError;
use crate::store::ledger::holds::{Admission, Hold};
use crate::store::write_transaction::WriteTransaction;

/// Decides about each of these, which are to be taken in for their accounts, in the order of arrival; and holds for those
/// taken.
pub(super) async fn admit(
    arrivals: &[(AccountKey, Option<Hold>)],
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<Admission>, StoreError> {
    let priced = arrivals.iter().filter(|(_, hold)| hold.is_some());
    let accounts: BTreeSet<i64> = priced.map(|(account, _)| account.0).collect();
    if accounts.is_empty() {
        return Ok(vec![Admission::Taken; arrivals.len()]);
    }
    let mut available = write.effects.ledger.available(accounts, &mut write.tx).await?;
    let mut admissions = Vec::with_capacity(arrivals.len());
    for (AccountKey(account), hold) in arrivals {
        let Some(Hold { amount: required, .. }) = *hold else {
            admissions.push(Admission::Taken);
            continue;
        };
        let left = available.get_mut(account).ok_or(StoreError::Damaged("an account with a key"))?;
        admissions.push(if *left >= required.nanos() {
            *left -= required.nanos();
            write.effects.ledger.hold(*account, required.nanos());
            Admission::Taken
        } else {
            Admission::Refused { required, available: Credits::from_nanos(*left) }
        });
    }
    Ok(admissions)
}
