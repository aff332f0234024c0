//! PostgreSQL for tests and measurements: a temporary server, and a proxy that loses messages on request.
//!
//! Neither needs a runtime: they work even if the test's runtime is busy or has its own time.

mod account;
mod binaries;
mod cluster;
mod folder;
mod frames;
mod network;
mod pooler;
mod proxy;
mod server;
mod session;

pub use self::cluster::{Cluster, ClusterOptions, Durability};
pub use self::network::Network;
pub use self::pooler::Pooler;
pub use self::proxy::{Dropped, FaultProxy};

/// The superuser of every cluster; it needs no password.
const USER: &str = "overnight";
