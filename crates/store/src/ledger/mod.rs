//! Money: balances, holds, usage, the ledger, prices, payments, and spend by day, API key and quarter of an hour.
//!
//! Money changes with the state. A group sums its changes to accounts in memory and writes them last: one row per account, one ledger entry
//! per charge, one row per day and model, and one per quarter of an hour. Creates are last in a group: they read their accounts' available
//! credits, with the group's own releases, and are admitted in order of arrival. Account rows are therefore locked last, in the order of
//! their numbers. The same row counts the account's stored bytes and live requests, so quotas (`crates/domain/src/quotas.rs`) and credits
//! are checked together. A hold is not a ledger entry. A charge is entered once for its result, other entries once for their source.
//! Amounts are whole nano-credits; the arithmetic is pure (`crates/domain/src/money/`).

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
