//! One try to deliver a webhook: a signed POST to an address that a tenant chose, and that leads nowhere it must not.
//!
//! Whatever the name of a receiver was yesterday, each try resolves it anew, judges every address, and connects to one of
//! those that it judged. What answers cannot send it elsewhere, hold it for long, or make it take in much.

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
