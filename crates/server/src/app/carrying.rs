//! Writes of work that is done, and that must not be lost to a store that is away for a moment.

use std::sync::Arc;

use crate::clock::SharedClock;
use crate::store::StoreError;

const RETRY_MS: i64 = 1_000;

/// Writes all of them together, however long the store takes to take it. Where it refuses, one of them is at fault, and the
/// others must not wait behind it: each is written alone. What came of each, `None` where it is refused; nothing at all
/// where the store is closed.
pub async fn carry_through<T, W>(
    clock: &SharedClock,
    what: &'static str,
    items: Arc<[T]>,
    write: impl Fn(Arc<[T]>) -> W,
) -> Vec<Option<bool>>
where
    T: Clone,
    W: Future<Output = Result<Vec<bool>, StoreError>>,
{
    match insist(clock, what, &items, &write).await {
        Ok(done) => return done.into_iter().map(Some).collect(),
        Err(StoreError::Refused(_)) if items.len() > 1 => {}
        Err(StoreError::Stopped) => return Vec::new(),
        Err(_) => return vec![None; items.len()],
    }
    let mut outcomes = Vec::with_capacity(items.len());
    for item in items.iter() {
        let alone = insist(clock, what, &[item.clone()].into(), &write).await;
        outcomes.push(alone.ok().and_then(|done| done.first().copied()));
    }
    outcomes
}

/// Until it is done, refused, or the store is closed.
async fn insist<T, W>(
    clock: &SharedClock,
    what: &'static str,
    items: &Arc<[T]>,
    write: &impl Fn(Arc<[T]>) -> W,
) -> Result<Vec<bool>, StoreError>
where
    W: Future<Output = Result<Vec<bool>, StoreError>>,
{
    loop {
        match write(Arc::clone(items)).await {
            Err(StoreError::Stopped) => return Err(StoreError::Stopped),
            Err(error @ StoreError::Refused(_)) => {
                tracing::error!(%error, what, "the store refuses it");
                return Err(error);
            }
            Err(error) => tracing::warn!(%error, what, "it waits for the store"),
            done => return done,
        }
        clock.sleep_until(clock.now() + RETRY_MS).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::clock::HurriedClock;

    /// What came of each, and how the store was asked, which is away twice and refuses whatever has a 3 in it.
    async fn carried(items: &[i64]) -> (Vec<Option<bool>>, Vec<Vec<i64>>) {
        let clock: SharedClock = Arc::new(HurriedClock);
        let asked = Mutex::new(Vec::<Vec<i64>>::new());
        let outcomes = carry_through(&clock, "a test", items.into(), |items: Arc<[i64]>| {
            let mut asked = asked.lock().unwrap();
            asked.push(items.to_vec());
            let outcome = match asked.len() {
                1 | 2 => Err(StoreError::Unavailable("away")),
                _ if items.contains(&3) => Err(StoreError::Refused("a three".to_owned())),
                _ if items.contains(&9) => Err(StoreError::Stopped),
                _ => Ok(items.iter().map(|item| item % 2 == 0).collect()),
            };
            async move { outcome }
        })
        .await;
        (outcomes, asked.into_inner().unwrap())
    }

    #[tokio::test]
    async fn a_store_that_is_away_is_waited_for_and_one_at_fault_holds_no_other_up() {
        let all = vec![1, 2, 4];
        assert_eq!(carried(&all).await, (vec![Some(false), Some(true), Some(true)], vec![all; 3]));
        let (outcomes, asked) = carried(&[1, 3, 4]).await;
        assert_eq!(outcomes, [Some(false), None, Some(true)]);
        assert_eq!(asked[3..], [vec![1], vec![3], vec![4]]);
        assert_eq!(carried(&[3]).await.0, [None]);
        assert_eq!(carried(&[1, 9]).await.0, []);
    }
}
