use std::sync::Arc;

use overnight_base::clock::{Clock, Sleep};
use tokio::sync::watch;

/// A clock that is stopped until it is set; then waits end as on any other.
pub(in super::super) struct Stepped(watch::Sender<i64>);

impl Stepped {
    pub(in super::super) fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(watch::channel(now).0))
    }

    pub(in super::super) fn set(&self, now: i64) {
        self.0.send_replace(now);
    }
}

impl Clock for Stepped {
    fn now(&self) -> i64 {
        *self.0.borrow()
    }

    fn sleep_until(&self, at: i64) -> Sleep {
        let mut time = self.0.subscribe();
        Box::pin(async move {
            if time.wait_for(|now| *now >= at).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

/// The same clock, which also records the times that waits were for.
pub(in super::super) struct Asked {
    clock: Arc<Stepped>,
    asked: watch::Sender<Vec<i64>>,
}

impl Asked {
    pub(in super::super) fn at(now: i64) -> Arc<Self> {
        Arc::new(Self { clock: Stepped::at(now), asked: watch::channel(Vec::new()).0 })
    }

    pub(in super::super) fn set(&self, now: i64) {
        self.clock.set(now);
    }

    /// The recorded times in order, without consecutive repetitions.
    pub(in super::super) fn asked(&self) -> Vec<i64> {
        let mut asked = self.asked.borrow().clone();
        asked.dedup();
        asked
    }

    /// Returns once a wait for `at` has begun.
    pub(in super::super) async fn asked_for(&self, at: i64) {
        let _ = self.asked.subscribe().wait_for(|asked| asked.contains(&at)).await;
    }
}

impl Clock for Asked {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn sleep_until(&self, at: i64) -> Sleep {
        self.asked.send_modify(|asked| asked.push(at));
        self.clock.sleep_until(at)
    }
}
