//! Changes of files and uploads that are done once for all calls with a key.

use overnight_domain::scheduler::AccountKey;

use crate::database::Tx;
use crate::effects::LedgerDeltas;
use crate::idempotency_keys::{Claim, Claims, Guard, Guarded};
use crate::{Store, StoreError};

/// Runs `work` in a transaction of the account, once for all calls with the key of the guard. `response` picks what repeats are answered
/// with from an outcome; for `None`, the key is released.
pub(super) async fn do_guarded<T: Clone + Send + 'static, R: 'static>(
    store: &Store,
    account: AccountKey,
    guard: Option<Guard<R>>,
    now: i64,
    response: for<'t> fn(&'t T) -> Option<&'t R>,
    work: impl AsyncFnOnce(&mut Tx<'_>) -> Result<T, StoreError> + Send + 'static,
) -> Result<Guarded<T>, StoreError> {
    let guarded = async move |tx: &mut Tx<'_>| {
        let claim = guard.map(|guard| Claim { account, key: guard.key, created_at: now });
        let claims = Claims::take(vec![claim], tx).await?;
        let mut outcomes = Vec::new();
        if !claims.first().is_empty() {
            outcomes.push(work(tx).await?);
        }
        let response = |_, outcome: &T| Some(guard?.response(response(outcome)?));
        let mut ledger = LedgerDeltas::default();
        let ended =
            claims.end(outcomes, response, |account, bytes| ledger.store_bytes(account, bytes), tx).await?;
        ledger.write(tx).await?;
        ended.into_iter().next().ok_or(StoreError::Damaged("the answer to a claim"))
    };
    store.transaction_of(account, guarded).await
}
