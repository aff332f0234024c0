use std::sync::Arc;

use overnight_server::clock::{Clock, Sleep};
use tokio::sync::watch;

/// A clock that stands still until it is set; then waits end as on any other.
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
