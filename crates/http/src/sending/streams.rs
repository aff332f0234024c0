//! Calls of HTTP/2, each in its own task. A client may block one response by its window and take others meanwhile, so the socket shows no
//! stall: each task is watched, and dropped when its response makes no progress. That resets the stream.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use axum::body::Bytes;
use hyper::rt::Executor;
use overnight_base::clock::SharedClock;

use super::stalls::StallTimer;
use crate::counters;

/// Frames of one response that wait for the client at a time.
const FRAMES_MAX: usize = 8;

tokio::task_local! {
    static FLOW: Arc<Flow>;
}

/// The frames of one response between its body and the socket.
#[derive(Default)]
pub(super) struct Flow(Mutex<Frames>);

#[derive(Default)]
struct Frames {
    waiting: usize,
    sent: u64,
    /// Of the body that waits for room.
    waker: Option<Waker>,
}

/// The flow of the current task; `None` if a task serves a whole connection, as with HTTP/1.1.
pub(super) fn current_flow() -> Option<Arc<Flow>> {
    FLOW.try_with(Arc::clone).ok()
}

impl Flow {
    /// Wraps the bytes as a frame of this response.
    pub(super) fn frame(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        self.lock().waiting += 1;
        Bytes::from_owner(Frame { bytes, flow: Arc::clone(self) })
    }

    /// Ready if there is room for one more frame.
    pub(super) fn poll_room(&self, task: &Task<'_>) -> Poll<()> {
        self.poll_down_to(FRAMES_MAX - 1, task)
    }

    /// Ready once all frames were written.
    pub(super) fn poll_sent(&self, task: &Task<'_>) -> Poll<()> {
        self.poll_down_to(0, task)
    }

    /// Whether no frame waits.
    pub(super) fn is_sent(&self) -> bool {
        self.lock().waiting == 0
    }

    fn poll_down_to(&self, waiting: usize, task: &Task<'_>) -> Poll<()> {
        let mut frames = self.lock();
        if frames.waiting <= waiting {
            return Poll::Ready(());
        }
        frames.waker = Some(task.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Frames> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that HTTP/2 drops once they were written, or once their stream is reset.
struct Frame {
    bytes: Bytes,
    flow: Arc<Flow>,
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        let mut frames = self.flow.lock();
        frames.waiting -= 1;
        frames.sent += 1;
        let waker = frames.waker.take();
        drop(frames);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Runs the calls of a connection.
#[derive(Clone)]
pub(crate) struct Streams {
    clock: SharedClock,
    stalled: Duration,
}

impl Streams {
    /// A call is dropped when its client takes no frame of the response for `stalled`.
    pub(crate) fn new(clock: &SharedClock, stalled: Duration) -> Self {
        Self { clock: Arc::clone(clock), stalled }
    }
}

impl<F: Future<Output: Send> + Send + 'static> Executor<F> for Streams {
    fn execute(&self, call: F) {
        let flow = Arc::<Flow>::default();
        let timer = StallTimer::new(&self.clock, self.stalled);
        let watched = Watched { call: Box::pin(call), flow: Arc::clone(&flow), timer };
        tokio::spawn(FLOW.scope(flow, watched));
    }
}

struct Watched<F> {
    call: Pin<Box<F>>,
    flow: Arc<Flow>,
    timer: StallTimer,
}

impl<F: Future> Future for Watched<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<()> {
        if self.call.as_mut().poll(task).is_ready() {
            return Poll::Ready(());
        }
        let frames = self.flow.lock();
        let (waiting, sent) = (frames.waiting, frames.sent);
        drop(frames);
        if waiting == 0 {
            self.timer.rest();
            return Poll::Pending;
        }
        self.timer.poll(task, sent).map(|()| counters::count_stalled("stream"))
    }
}
