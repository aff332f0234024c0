//! Money: what a request may cost, what it did cost, and what moves an account's balance.
//!
//! Credits move in two phases. When a request is accepted, the most that it may cost at the price of that moment is
//! *held*. When it completes, what it used is *captured*: charged, never more than was held. When it ends in any other
//! way, the hold is *released* and nothing is charged.

mod credits;
mod currency;
mod ledger;
mod pricing;

pub use credits::{Credits, NotCredits};
pub use currency::{Currency, NotCurrency};
pub use ledger::EntryKind;
pub use pricing::{Pricing, TokenBound};
