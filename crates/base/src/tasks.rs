//! Tasks of the runtime, and separate threads for work that occupies a processor for long.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use futures_util::FutureExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, JoinSet};

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

/// The threads of [`aside`]: half of the processors, at least one.
pub static ASIDE_THREADS: LazyLock<usize> =
    LazyLock::new(|| (available_parallelism().map_or(1, usize::from) / 2).max(1));

static ASIDE: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    let threads = *ASIDE_THREADS;
    Builder::new_multi_thread().worker_threads(threads).enable_time().on_thread_start(lower_priority).build()
});

/// Runs a task that computes between its waits, on low-priority threads that run no other kind of task. It is aborted if the returned
/// future is dropped. `None` if it panicked, or the process ends.
pub async fn aside<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> Option<T> {
    let mut task = JoinSet::new();
    match &*ASIDE {
        Ok(aside) => task.spawn_on(work.boxed(), aside.handle()),
        Err(_) => task.spawn(work.boxed()),
    };
    task.join_next().await?.ok()
}

/// The niceness of [`spawn_heavy`] and [`aside`]: five steps leave it about a quarter of a contended processor.
#[cfg(target_os = "linux")]
const STEPS: i32 = 5;

/// Of this thread alone, which only Linux supports. A failure is ignored.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Ok(priority) = rustix::process::getpriority_process(None) {
        _ = rustix::process::setpriority_process(None, priority + STEPS);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_task_aside_has_a_lower_priority() {
        let niceness = || rustix::process::getpriority_process(None).expect("a priority");
        let here = niceness();
        assert_eq!(aside(async move { niceness() }).await, Some((here + STEPS).min(19)));
    }

    #[tokio::test]
    async fn a_task_aside_ends_with_its_caller_and_a_panic_is_none() {
        let (held, dropped) = oneshot::channel::<()>();
        let waits = aside(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
        assert!(waits.now_or_never().is_none());
        assert!(dropped.await.is_err());
        assert_eq!(aside(async { assert_eq!(1, 2, "on purpose") }).await, None);
    }
}
