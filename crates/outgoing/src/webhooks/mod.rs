//! One try to deliver a webhook: a signed POST to a URL that a tenant chose.
//!
//! Each try resolves the receiver's name once (`crates/outgoing/src/webhooks/`), checks every address
//! (`crates/domain/src/webhooks/addresses.rs`), and connects to one of the checked addresses. The service, its database and its engines are
//! refused whatever is allowed. A receiver cannot redirect the call, prolong it, or send much data.

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
