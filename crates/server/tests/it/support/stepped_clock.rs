//! A clock that the test moves on, on which waits end when their time has come.

use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use overnight_base::clock::{Clock, Sleep};

/// How long the test lets the service be between two steps. It decides nothing: a step that comes early is followed by more.
const BREATH: Duration = Duration::from_millis(5);

/// Steps after which something that does not happen never will.
const STEPS_MAX: usize = 20_000;

/// A clock that the test moves on.
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

/// The clock as a service holds it.
pub(crate) struct SharedSteps(pub(crate) Arc<SteppedClock>);

impl SteppedClock {
    /// A clock that shows `now`.
    pub(crate) fn at(now: i64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Steps { now, waiting: Vec::new() })))
    }

    /// Moves it on.
    pub(crate) fn advance(&self, step: Duration) {
        let mut steps = self.0.lock().unwrap();
        steps.now += i64::try_from(step.as_millis()).unwrap();
        let waiting = std::mem::take(&mut steps.waiting);
        drop(steps);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Moves it on in steps until `awaited` happens.
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
