//! What a request holds of its account's credits until it ends. `requests/insert.rs` decides on admission.

use overnight_domain::money::Credits;
use overnight_domain::quotas::QuotaExceeded;

use crate::store::ledger::price_points::PriceKey;

/// What a request is to hold, and the price point at which it was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    pub amount: Credits,
    /// What its tokens cost.
    pub price: PriceKey,
}

/// Whether a request was taken in. Where it was not, nothing was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is stored, and holds what it was to hold.
    Taken,
    /// Its account is suspended or closed.
    Suspended,
    /// A quota of its account does not allow it.
    OverQuota(QuotaExceeded),
    /// Its account has not enough credits.
    InsufficientCredits { required: Credits, available: Credits },
}
