//! Money: what accounts have, hold and use, the ledger, prices, payments, and what was spent by day, API key and quarter of an hour.
//!
//! Money moves with the state. A group adds up what it does to accounts in memory and writes it last: one row an account, one ledger
//! entry a charge, one row a day and model, and one a quarter of an hour. Creates come last in a group: they read what their accounts
//! have available, with the group's own releases, and are admitted in order of arrival. Account rows are therefore locked last, in
//! the order of their numbers. The same row counts what the account stores and how many of its requests live, so a create that would
//! exceed a quota (`crates/domain/src/quotas.rs`) is refused where its credits are checked. A hold is no ledger entry. A charge is
//! entered once for its result, anything else once for its source. Amounts are whole nano-credits, and the arithmetic is pure
//! (`crates/domain/src/money/`).

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
