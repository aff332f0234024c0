//! Name resolution.

use std::any::Any;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use overnight_base::tasks;
use overnight_domain::webhooks::TRIES_AT_ONCE;
use tokio::sync::Semaphore;

/// Concurrent lookups. Each takes a thread until the system gives up, which a hostile name server can delay; this is half of the threads.
const LOOKUPS_MAX: usize = TRIES_AT_ONCE;

/// Held while a try's name is being resolved, even after the caller stopped waiting: slow names reduce the number of tries and leave
/// threads to others.
pub type Hold = Arc<dyn Any + Send + Sync>;

/// The source of a name's addresses.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, best first. May be dropped before it ends.
    fn resolve(&self, name: &str, hold: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

#[derive(Debug)]
pub struct SystemResolver {
    free: Arc<Semaphore>,
}

impl SystemResolver {
    pub fn new() -> Self {
        Self { free: Arc::new(Semaphore::new(LOOKUPS_MAX)) }
    }
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self::new()
    }
}

impl Resolve for SystemResolver {
    fn resolve(&self, name: &str, hold: Hold) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let (free, name) = (Arc::clone(&self.free), name.to_owned());
        Box::pin(async move {
            let permit = free.acquire_owned().await.map_err(io::Error::other)?;
            // A separate task, which outlives the caller: its permit is held as long as its thread.
            let lookup = tasks::spawn(async move {
                let found = tokio::net::lookup_host((name, 0)).await;
                drop((permit, hold));
                found.map(|addresses| addresses.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_machine_knows_itself() {
        let addresses = SystemResolver::new().resolve("localhost", Arc::new(())).await.unwrap();
        assert!(!addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback), "{addresses:?}");
    }
}
