//! The account of an API key.

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
    "payments_activated": true,
    "suspended": false,
    "closed": false,
    "erased": false,
    "retention_seconds": 2_592_000,
    "monthly_credits": "25",
    "low_credits": {"threshold": "10", "webhook": "https://example.com/hooks/overnight"},
    "quotas": {
        "stored_bytes": {"used": 52_428_800, "limit": 107_374_182_400_i64},
        "live_requests": {"used": 1200, "limit": 1_000_000},
        "requests_per_second": {"used": null, "limit": null},
        "tokens_per_day": {"used": 350_000, "limit": null}
    }
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
    /// Whether the operator has suspended the account: its keys only read.
    #[serde(default)]
    pub suspended: bool,
    /// Whether the operator has closed the account for good: its keys are revoked, and what waited was cancelled.
    #[serde(default)]
    pub closed: bool,
    /// Whether what the account had is erased, all but the entries of its ledger.
    #[serde(default)]
    pub erased: bool,
    /// How long ended requests are kept, in seconds; null for ever.
    #[serde(default)]
    pub retention_seconds: Option<i64>,
    /// What the operator grants the account each calendar month (UTC), once, as a decimal number; null where it is granted nothing by itself.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub monthly_credits: Option<String>,
    /// When and where the account is told that its credits are low, by the event `account.low_credits`; null where it is not.
    #[serde(default)]
    pub low_credits: Option<LowCredits>,
    /// What the account uses and may use. A request beyond that is refused with 429 `quota_exceeded`.
    #[serde(default)]
    pub quotas: AccountQuotas,
}

/// When and where an account is told that its credits are low.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LowCredits {
    /// The account is told once less than this is available, as a decimal number.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub threshold: String,
    /// The address that is told.
    pub webhook: String,
}

/// What an account uses and may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountQuotas {
    /// Bytes stored of requests, results and batches.
    pub stored_bytes: QuotaUse,
    /// Requests that wait or run.
    pub live_requests: QuotaUse,
    /// Requests that the API creates in a second; after a pause, ten times as many at once.
    pub requests_per_second: QuotaUse,
    /// Tokens, read and written, of requests that completed today, UTC.
    pub tokens_per_day: QuotaUse,
}

/// A quota and what is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuotaUse {
    /// What is used; null of a rate.
    pub used: Option<i64>,
    /// What may be used; null where there is no limit.
    pub limit: Option<i64>,
}
