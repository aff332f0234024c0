//! Tasks of the runtime, and work that is none: what takes a processor for long has threads of its own.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Starts a task. Its future is boxed: tokio's code for a task is compiled anew for each type of future.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}

/// The threads of [`spawn_heavy`], as many as there are processors. It runs no task.
static HEAVY: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let threads = available_parallelism().map_or(1, usize::from);
    Builder::new_current_thread().max_blocking_threads(threads).on_thread_start(lower_priority).build()
});

/// Does work that takes a processor for milliseconds, on a thread that comes after those of all others: a call that needs
/// microseconds does not wait for it.
pub fn spawn_heavy<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match &*HEAVY {
        Ok(heavy) => heavy.spawn_blocking(work),
        Err(_) => tokio::task::spawn_blocking(work),
    }
}

/// By how much [`spawn_heavy`] is nicer than the rest: five steps leave it about a quarter of a processor that others want.
#[cfg(target_os = "linux")]
const STEPS: i32 = 5;

/// Of this thread alone, which only Linux can. Where it may not be lowered it stays.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Ok(priority) = rustix::process::getpriority_process(None) {
        _ = rustix::process::setpriority_process(None, priority + STEPS);
    }
}
