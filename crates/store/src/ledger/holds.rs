//! Credits of an account that a request holds until it ends. `requests/insert.rs` decides on admission.

use overnight_domain::money::Credits;
use overnight_domain::quotas::QuotaExceeded;

use crate::ledger::price_points::PriceKey;

/// A request's hold, and the price point of its acceptance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub amount: Credits,
    pub price: PriceKey,
}

/// Only a taken request is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Taken,
    /// The account is suspended or closed.
    Suspended,
    OverQuota(QuotaExceeded),
    InsufficientCredits {
        required: Credits,
        available: Credits,
    },
}
