//! Retries writes of finished work, so that a short outage of the store does not lose it.

use std::sync::Arc;

use overnight_base::clock::SharedClock;
use overnight_store::StoreError;

const RETRY_MS: i64 = 1_000;

/// Writes all items together, and retries until the store accepts them. If the store refuses, one item is invalid or needs a damaged page,
/// so each is written separately. Returns the outcome of each item, `None` if it is refused, or nothing at all if the store is closed.
pub async fn write_with_retry<T, W>(
    clock: &SharedClock,
    what: &'static str,
    items: Arc<[T]>,
    write: impl Fn(Arc<[T]>) -> W,
) -> Vec<Option<bool>>
where
    T: Clone,
    W: Future<Output = Result<Vec<bool>, StoreError>>,
{
    match retry(clock, what, &items, &write).await {
        Ok(done) => return done.into_iter().map(Some).collect(),
        Err(StoreError::Stopped) => return Vec::new(),
        Err(_) if items.len() > 1 => {}
        Err(_) => return vec![None; items.len()],
    }
    let mut outcomes = Vec::with_capacity(items.len());
    for item in items.iter() {
        let alone = retry(clock, what, &[item.clone()].into(), &write).await;
        outcomes.push(alone.ok().and_then(|done| done.first().copied()));
    }
    outcomes
}

/// Repeats one write until the store accepts it, refuses it, or is closed.
async fn retry<T, W>(
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
            Err(error) if !error.is_passing() => {
                tracing::error!(%error, what, "store refused write");
                return Err(error);
            }
            Err(error) => tracing::warn!(%error, what, "store unavailable; retrying write"),
            done => return done,
        }
        clock.sleep_until(clock.now() + RETRY_MS).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use overnight_base::clock::HurriedClock;

    use super::*;

    /// The outcome of each item, and the writes of a store that is unavailable twice and refuses items with a 3.
    async fn outcomes_of(items: &[i64]) -> (Vec<Option<bool>>, Vec<Vec<i64>>) {
        let clock: SharedClock = Arc::new(HurriedClock);
        let asked = Mutex::new(Vec::<Vec<i64>>::new());
        let outcomes = write_with_retry(&clock, "a test", items.into(), |items: Arc<[i64]>| {
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
        assert_eq!(outcomes_of(&all).await, (vec![Some(false), Some(true), Some(true)], vec![all; 3]));
        let (outcomes, asked) = outcomes_of(&[1, 3, 4]).await;
        assert_eq!(outcomes, [Some(false), None, Some(true)]);
        assert_eq!(asked[3..], [vec![1], vec![3], vec![4]]);
        assert_eq!(outcomes_of(&[3]).await.0, [None]);
        assert_eq!(outcomes_of(&[1, 9]).await.0, []);
    }
}
