//! Waiters for ends of requests of a batch. A write that ends some wakes them once it is durable; ends by other nodes do not wake them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::Store;

type Waiting = BTreeMap<i64, Vec<Arc<Notify>>>;

#[derive(Default)]
pub(crate) struct BatchWatches(Mutex<Waiting>);

/// A wait for ends of requests of one batch, until it is dropped.
pub struct BatchWatch {
    batch: i64,
    woken: Arc<Notify>,
    watches: Arc<BatchWatches>,
}

/// Waits for ends after this call; `batch` is a row number.
pub fn watch_batch(store: &Store, batch: i64) -> BatchWatch {
    let (woken, watches) = (Arc::<Notify>::default(), Arc::clone(store.batch_watches()));
    watches.lock().entry(batch).or_default().push(Arc::clone(&woken));
    BatchWatch { batch, woken, watches }
}

impl BatchWatch {
    /// Returns once a write of this process has ended requests of the batch since the previous return.
    pub async fn ended(&self) {
        self.woken.notified().await;
    }
}

impl BatchWatches {
    /// Wakes the waiters of `batches`, whose ends are durable.
    pub(crate) fn notify(&self, batches: &BTreeSet<i64>) {
        let waiting = self.lock();
        if waiting.is_empty() {
            return;
        }
        for woken in batches.iter().filter_map(|batch| waiting.get(batch)).flatten() {
            woken.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for BatchWatch {
    fn drop(&mut self) {
        let mut waiting = self.watches.lock();
        let Some(of_batch) = waiting.get_mut(&self.batch) else { return };
        of_batch.retain(|woken| !Arc::ptr_eq(woken, &self.woken));
        if of_batch.is_empty() {
            waiting.remove(&self.batch);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::tests::Fixture;

    #[tokio::test]
    async fn who_waits_for_a_batch_is_woken_by_it_alone_and_forgotten_when_it_waits_no_more() {
        let fixture = Fixture::on_sqlite().await;
        let watches = Arc::clone(fixture.store.batch_watches());
        let [first, second, other] = [1, 1, 2].map(|batch| watch_batch(&fixture.store, batch));
        let waiting = || watches.lock().iter().map(|(batch, all)| (*batch, all.len())).collect::<Vec<_>>();
        assert_eq!(waiting(), [(1, 2), (2, 1)]);
        drop(first);
        assert_eq!(waiting(), [(1, 1), (2, 1)]);
        watches.notify(&[1, 3].into());
        let is_woken = |watch: &BatchWatch| watch.ended().now_or_never().is_some();
        assert_eq!([is_woken(&second), is_woken(&second), is_woken(&other)], [true, false, false]);
        drop(second);
        assert_eq!(waiting(), [(2, 1)]);
        drop(other);
        assert_eq!(waiting(), []);
    }
}
