//! Money: what a request may cost, what it did cost, and what moves an account's balance.
//!
//! Credits move in two phases. When a request is accepted, its maximum cost at the current price is *held*. When it completes, what it used
//! is *captured*: charged, never more than was held. When it ends in any other way, the hold is *released* and there is no charge.

mod credits;
mod currency;
mod ledger;
mod pricing;

pub use credits::{Credits, NotCredits};
pub use currency::{Currency, NotCurrency};
pub use ledger::EntryKind;
pub use pricing::{Pricing, TokenBound};
