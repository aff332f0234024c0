//! Runs the engine's model in real time.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use tokio::sync::{Notify, oneshot};

use super::config::CostModel;
use super::lock;
use super::model::{EngineModel, Finished, Job, JobId, ModelStats};
use crate::time;

/// The model, its waiting callers, and the loop that steps it.
#[derive(Debug)]
pub(super) struct Driver {
    cost: CostModel,
    inner: Mutex<Inner>,
    work: Notify,
    running_max: AtomicUsize,
}

#[derive(Debug)]
struct Inner {
    model: EngineModel,
    callers: HashMap<JobId, oneshot::Sender<Finished>>,
    /// When the first job arrived and when the last one ended.
    worked: Option<(Instant, Instant)>,
}

impl Inner {
    fn new(cost: &CostModel) -> Self {
        Self { model: EngineModel::new(cost.clone()), callers: HashMap::new(), worked: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Full,
    /// Larger than the whole cache.
    TooLong,
}

impl Driver {
    pub(super) fn new(cost: CostModel, running_max: usize) -> Self {
        Self {
            inner: Mutex::new(Inner::new(&cost)),
            cost,
            work: Notify::new(),
            running_max: AtomicUsize::new(running_max),
        }
    }

    /// Runs a job to its end. Dropping the future cancels the job.
    pub(super) async fn complete(&self, job: Job, waiting_max: usize) -> Result<Finished, Refusal> {
        let (sender, mut ended) = oneshot::channel();
        let ticket = {
            let mut inner = lock(&self.inner);
            let stats = inner.model.stats();
            let places = self.running_max.load(Relaxed).saturating_add(waiting_max);
            if stats.num_requests_running + stats.num_requests_waiting >= places {
                return Err(Refusal::Full);
            }
            let id = inner.model.submit(job).ok_or(Refusal::TooLong)?;
            inner.callers.insert(id, sender);
            if inner.worked.is_none() {
                let now = time::now();
                inner.worked = Some((now, now));
            }
            Ticket { driver: self, id }
        };
        self.work.notify_one();
        match (&mut ended).await {
            Ok(finished) => Ok(finished),
            // The sender is dropped only by a reset, which follows the end of every caller.
            Err(_) => {
                drop(ticket);
                std::future::pending().await
            }
        }
    }

    /// Steps the model whenever it has work; never returns. Only one may run.
    pub(super) async fn run(&self) {
        let mut clock = time::now();
        loop {
            let step = {
                let mut inner = lock(&self.inner);
                (!inner.model.is_idle()).then(|| inner.model.step(self.running_max.load(Relaxed)))
            };
            let Some(step) = step else {
                self.work.notified().await;
                clock = clock.max(time::now());
                continue;
            };
            // The model's clock advances exactly; the steps after a late wake-up make up for it.
            clock += step.duration;
            if clock > time::now() {
                time::sleep_until(clock).await;
            } else {
                tokio::task::yield_now().await;
            }
            let mut inner = lock(&self.inner);
            if let Some((_, ended_at)) = inner.worked.as_mut().filter(|_| !step.finished.is_empty()) {
                *ended_at = time::now();
            }
            for finished in step.finished {
                if let Some(caller) = inner.callers.remove(&finished.id) {
                    let _ = caller.send(finished);
                }
            }
        }
    }

    pub(super) fn resize(&self, running_max: usize) {
        self.running_max.store(running_max, Relaxed);
    }

    pub(super) fn stats(&self) -> ModelStats {
        lock(&self.inner).model.stats()
    }

    /// When the first job arrived and when the last one ended; `None` before the first.
    pub(super) fn worked(&self) -> Option<(Instant, Instant)> {
        lock(&self.inner).worked
    }

    /// Forgets everything, as the death of the process does.
    pub(super) fn reset(&self) {
        *lock(&self.inner) = Inner::new(&self.cost);
    }
}

struct Ticket<'a> {
    driver: &'a Driver,
    id: JobId,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.driver.inner);
        if inner.callers.remove(&self.id).is_some() {
            inner.model.cancel(self.id);
        }
    }
}
