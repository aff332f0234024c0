//! Tasks of the runtime.

use futures_util::FutureExt;
use tokio::task::JoinHandle;

/// Starts a task. Its future is boxed: tokio's code for a task is compiled anew for each type of future.
pub(crate) fn spawn<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(work.boxed())
}
