//! Money: what accounts have, hold and use, the ledger, prices, payments, and what was spent by day, API key and quarter of an hour.

pub mod activity;
pub(super) mod entries;
pub mod holds;
pub mod monthly_grants;
pub mod payment_checks;
pub mod payments;
pub mod price_points;
pub mod spend;
pub(super) mod spend_by_key;
pub(super) mod totals;
pub mod usage;

pub(super) use self::entries::post_in;
pub use self::entries::{Entry, NewEntry, Posting, find_amount, list, post, post_once, post_undone};
