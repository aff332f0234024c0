//! A clock under the test's control. Waits end when it reaches their time.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use overnight_base::clock::{Clock, Sleep};

/// Real time for the service between two steps. It decides nothing: if a step is too early, more follow.
const BREATH: Duration = Duration::from_millis(5);

/// The number of steps after which an event counts as missing.
const STEPS_MAX: usize = 20_000;

#[derive(Default)]
pub(crate) struct SteppedClock(Mutex<Steps>);

#[derive(Default)]
struct Steps {
    now: i64,
    waiting: Vec<Waker>,
}

struct Wait {
    clock: Arc<SteppedClock>,
    until: i64,
}

pub(crate) struct SharedSteps(pub(crate) Arc<SteppedClock>);

impl SteppedClock {
    pub(crate) fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Steps { now, waiting: Vec::new() })))
    }

    pub(crate) fn advance(&self, step: Duration) {
        let mut steps = self.0.lock().unwrap();
        steps.now += i64::try_from(step.as_millis()).unwrap();
        let waiting = std::mem::take(&mut steps.waiting);
        drop(steps);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Advances it in steps until `awaited` is ready.
    pub(crate) async fn advance_until<T>(&self, step: Duration, awaited: impl Future<Output = T>) -> T {
        let mut awaited = pin!(awaited);
        for _ in 0..STEPS_MAX {
            match tokio::time::timeout(BREATH, awaited.as_mut()).await {
                Ok(outcome) => return outcome,
                Err(_) => self.advance(step),
            }
        }
        panic!("what is awaited does not happen, whatever time passes");
    }
}

impl Clock for SharedSteps {
    fn now(&self) -> i64 {
        self.0.0.lock().unwrap().now
    }

    fn sleep_until(&self, until: i64) -> Sleep {
        Box::pin(Wait { clock: Arc::clone(&self.0), until })
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<()> {
        let mut steps = self.clock.0.lock().unwrap();
        if steps.now >= self.until {
            return Poll::Ready(());
        }
        steps.waiting.push(task.waker().clone());
        Poll::Pending
    }
}
