//! One try to deliver a webhook: a signed POST to an address that a tenant chose, and that leads nowhere it must not.
//!
//! Whatever the name of a receiver was yesterday, each try resolves it anew, judges every address, and connects to one of
//! those that it judged. What answers cannot send it elsewhere, hold it for long, or make it take in much.
//!
//! A webhook connects to the address that was checked. `crates/server/src/webhooks/` resolves a name once an attempt, checks every
//! address (`crates/domain/src/webhooks/addresses.rs`), and connects to one of them. The service, its database and its engines are
//! refused whatever is allowed.

mod connect;
mod exchange;
mod failure;
mod own_addresses;
mod policy;
mod resolve;
mod sender;
mod target;
mod tls;

pub use failure::Failure;
pub use own_addresses::EngineAddresses;
pub use policy::Policy;
pub use resolve::{Hold, Resolve, SystemResolver};
pub use sender::{Message, Sender, Tried};
