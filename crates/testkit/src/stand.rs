//! Shared parts of counterparts over HTTP: a server that ends with the test that started it, and locks without poison.

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Dropping it stops the server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves on the current tokio runtime; it accepts calls when this returns.
    pub(crate) fn start(listener: TcpListener, router: Router) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // The server ends with the test that started it.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, task })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Ignores poison, so that a panic of one test's thread is not hidden by the panics of others.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
