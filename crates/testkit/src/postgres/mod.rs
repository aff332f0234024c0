//! PostgreSQL to test and to measure against: a throw-away server, and a proxy that loses what a test tells it to lose.
//!
//! Neither knows a runtime: both work whatever the runtime of the test is busy with, and whatever time it shows.

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
