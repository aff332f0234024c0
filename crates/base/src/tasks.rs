//! Tasks of the runtime, and separate threads for work that occupies a processor for long.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Starts a task. Its future is boxed: tokio's code for a task is compiled anew for each type of future.
pub fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}

/// The threads of [`spawn_heavy`], one per processor. It runs no task.
static HEAVY: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let threads = available_parallelism().map_or(1, usize::from);
    Builder::new_current_thread().max_blocking_threads(threads).on_thread_start(lower_priority).build()
});

/// Does work that occupies a processor for milliseconds, on a low-priority thread: calls that need microseconds do not wait for it.
pub fn spawn_heavy<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match &*HEAVY {
        Ok(heavy) => heavy.spawn_blocking(work),
        Err(_) => tokio::task::spawn_blocking(work),
    }
}

/// The niceness of [`spawn_heavy`]: five steps leave it about a quarter of a contended processor.
#[cfg(target_os = "linux")]
const STEPS: i32 = 5;

/// Of this thread alone, which only Linux supports. A failure is ignored.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Ok(priority) = rustix::process::getpriority_process(None) {
        _ = rustix::process::setpriority_process(None, priority + STEPS);
    }
}
