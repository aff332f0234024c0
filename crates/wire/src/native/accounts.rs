//! The account that a key belongs to.

use serde::{Deserialize, Serialize};

/// The account and its credits. Amounts are decimal numbers of credits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "id": "acct_01k2xbtvmrf1rb6v8tqk2z2y9j",
    "name": "default",
    "created_at": 1751400000,
    "balance": "99.75",
    "held": "1.2",
    "available": "98.55",
    "payments_activated": true
})))]
pub struct Account {
    /// The identifier of the account.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// When it was made, in Unix seconds.
    pub created_at: i64,
    /// The sum of everything posted: grants and payments, less charges.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub balance: String,
    /// What is set aside for requests that have not ended: the most that they may cost.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub held: String,
    /// `balance` less `held`: what new requests may hold. Below zero only after a payment was taken back.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub available: String,
    /// Whether payments are activated, without which no key works.
    pub payments_activated: bool,
}
