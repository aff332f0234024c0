//! Signals from use cases to the scheduler, and the stop of the process. Signals coalesce, so a slow scheduler delays no caller and fills
//! no memory.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use overnight_domain::scheduler::{AccountKey, Pace, QueuePartition, SweptSegment};
use tokio::sync::{Notify, oneshot};

/// The scheduler takes the news at least this often, even if the bell was not rung.
pub const HEARD_EVERY_MS: i64 = 1_000;

const NOTHING: i64 = i64::MAX;

/// News for the scheduler, and questions about its state.
#[derive(Debug)]
pub struct Signals {
    gathering_until: AtomicI64,
    ended: Mutex<Vec<i64>>,
    questions: Mutex<Vec<SweepQuestion>>,
    are_engines_changed: AtomicBool,
    has_scheduler: AtomicBool,
    bell: Notify,
    fillers: Notify,
    is_stopping: AtomicBool,
}

/// A scheduler's knowledge of a partition's sweep.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SweepState {
    /// Its segments, in order; empty if nodes share the queue.
    pub segments: Vec<SweptSegment>,
    /// The requests that a replica keeps of a long rest when another replica takes the requests behind them.
    pub portion: u32,
    /// The known paces of its model's requests, by account.
    pub paces: Vec<(AccountKey, Pace)>,
    /// The minimum milliseconds that a unit of cost takes in a slot; `None` if unknown.
    pub least_slot_ms: Option<f64>,
}

/// A question about the sweep of a partition.
#[derive(Debug)]
pub struct SweepQuestion {
    pub partition: QueuePartition,
    pub answer: oneshot::Sender<SweepState>,
}

/// The signals since the last [`Signals::take`].
#[derive(Debug, Default)]
pub struct News {
    /// The earliest `ready_at` of accepted requests, in milliseconds.
    pub gathering_until: Option<i64>,
    /// Cancelled or expired requests, by `seq`.
    pub ended: Vec<i64>,
    pub questions: Vec<SweepQuestion>,
    /// Whether the engines or models changed.
    pub are_engines_changed: bool,
}

impl Default for Signals {
    fn default() -> Self {
        Self {
            gathering_until: AtomicI64::new(NOTHING),
            ended: Mutex::default(),
            questions: Mutex::default(),
            are_engines_changed: AtomicBool::new(false),
            has_scheduler: AtomicBool::new(false),
            bell: Notify::new(),
            fillers: Notify::new(),
            is_stopping: AtomicBool::new(false),
        }
    }
}

impl Signals {
    /// A request was accepted at `now` and gathers until `ready_at`. The bell rings only for urgent news: ringing for each request would
    /// cost more than recording it.
    pub fn accepted(&self, ready_at: i64, now: i64) {
        let known = self.gathering_until.fetch_min(ready_at, Ordering::AcqRel);
        if ready_at < known && ready_at < now.saturating_add(HEARD_EVERY_MS) {
            self.bell.notify_one();
        }
    }

    /// These requests were cancelled or expired: work on them is to be aborted.
    pub fn ended(&self, seqs: &[i64]) {
        if !seqs.is_empty() {
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(seqs);
            self.bell.notify_one();
        }
    }

    /// The configured engines or models changed.
    pub fn engines_changed(&self) {
        self.are_engines_changed.store(true, Ordering::Release);
        self.bell.notify_one();
    }

    /// Whether a scheduler takes the news.
    pub fn set_scheduler(&self, is_there: bool) {
        self.has_scheduler.store(is_there, Ordering::Release);
        if !is_there {
            self.questions.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Asks for the state of a partition's sweep. `None` if this process has no scheduler; the channel closes without an answer if it stops
    /// meanwhile.
    pub fn ask(&self, partition: QueuePartition) -> Option<oneshot::Receiver<SweepState>> {
        if !self.has_scheduler.load(Ordering::Acquire) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|question| !question.answer.is_closed());
        questions.push(SweepQuestion { partition, answer });
        self.bell.notify_one();
        Some(answered)
    }

    /// Everything signalled since the last call, for `Shell::drain_signals` of the scheduler.
    pub fn take(&self) -> News {
        let gathering_until = self.gathering_until.swap(NOTHING, Ordering::AcqRel);
        let ended = std::mem::take(&mut *self.ended.lock().unwrap_or_else(PoisonError::into_inner));
        let questions = std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner));
        let are_engines_changed = self.are_engines_changed.swap(false, Ordering::AcqRel);
        let gathering_until = (gathering_until != NOTHING).then_some(gathering_until);
        News { gathering_until, ended, questions, are_engines_changed }
    }

    /// A batch of a file was created, and must be filled.
    pub fn ring_fillers(&self) {
        self.fillers.notify_one();
    }

    /// Returns when one was created since the last call.
    pub async fn fillers_rung(&self) {
        self.fillers.notified().await;
    }

    /// Marks the process as stopping: clients should use others from now on.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Returns when the bell has rung since the last call.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_coalesce_and_are_taken_once() {
        let signals = Signals::default();
        signals.accepted(9, 0);
        signals.accepted(5, 0);
        signals.ended(&[1]);
        signals.ended(&[2, 3]);
        let news = signals.take();
        assert_eq!((news.gathering_until, news.ended), (Some(5), vec![1, 2, 3]));
        let news = signals.take();
        assert_eq!((news.gathering_until, news.ended), (None, vec![]));
    }

    #[tokio::test]
    async fn the_bell_is_rung_for_what_is_ready_before_the_news_are_taken_anyway() {
        let signals = Signals::default();
        let is_rung = |ready_at| {
            signals.accepted(ready_at, 0);
            futures_util::FutureExt::now_or_never(signals.rung()).is_some()
        };
        assert!(!is_rung(HEARD_EVERY_MS));
        assert!(is_rung(HEARD_EVERY_MS - 1));
        assert!(!is_rung(HEARD_EVERY_MS - 1));
        assert!(is_rung(-1));
    }
}
