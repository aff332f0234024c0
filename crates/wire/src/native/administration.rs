//! Requests and answers for API keys with the scope `admin`.

use serde::{Deserialize, Serialize};

use super::accounts::Account;

/// The `object` of every list.
pub const LIST_OBJECT: &str = "list";

/// The body of Create Account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"name": "acme", "payments_activated": true})))]
pub struct CreateAccount {
    /// What people call it: 1 to 256 characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256))]
    pub name: String,
    /// Whether its payments are activated from the beginning; without that its keys do nothing where requests cost credits.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub payments_activated: Option<bool>,
}

/// A page of accounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccountList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// The accounts, oldest first.
    pub data: Vec<Account>,
    /// The `after` of the next page; null where this is the last.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next: Option<String>,
}

/// The body of Set Limits: what is not in it stays. A limit is a whole number above 0, `"none"`, or null for that of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"tokens_per_day": 5_000_000, "live_requests": "none", "stored_bytes": null})))]
pub struct SetLimits {
    /// The most bytes stored of requests, results and batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::limit))]
    pub stored_bytes: Option<serde_json::Value>,
    /// The most requests that wait or run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::limit))]
    pub live_requests: Option<serde_json::Value>,
    /// The most requests that the API creates in a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::limit))]
    pub requests_per_second: Option<serde_json::Value>,
    /// The most tokens of requests that complete on one day, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::limit))]
    pub tokens_per_day: Option<serde_json::Value>,
}

/// The body of Set Monthly Credits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"amount": "25"})))]
pub struct SetMonthlyCredits {
    /// What the account is granted each calendar month (UTC), as a decimal number above 0; null for nothing.
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = r"^\d+(\.\d+)?$"))]
    pub amount: Option<String>,
}

/// The body of Set Low Credits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"threshold": "10", "webhook": "https://example.com/hooks/overnight"})))]
pub struct SetLowCredits {
    /// The account is told once less than this is available, as a decimal number above 0; null for never.
    #[cfg_attr(feature = "openapi", schema(required = true, pattern = r"^\d+(\.\d+)?$"))]
    pub threshold: Option<String>,
    /// The address that is told, as the `webhook` of a request; needed with a threshold.
    #[cfg_attr(feature = "openapi", schema(max_length = 2048))]
    pub webhook: Option<String>,
}

/// The body of Set Retention.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"retention_seconds": 604_800})))]
pub struct SetRetention {
    /// How long ended requests of the account are kept.
    #[cfg_attr(feature = "openapi", schema(required = true, schema_with = super::schemas::retention))]
    pub retention_seconds: Option<serde_json::Value>,
}

/// What an account has, holds and spent. Amounts are decimal numbers of credits.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Totals {
    /// The identifier of the account.
    pub account: String,
    /// The sum of everything posted.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub balance: String,
    /// What is set aside for requests that have not ended.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub held: String,
    /// `balance` less `held`.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub available: String,
    /// What was charged for all requests that completed.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub spent: String,
    /// The same of today, UTC.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub spent_today: String,
    /// How many requests completed.
    pub requests: i64,
    /// The tokens that they read.
    pub prompt_tokens: i64,
    /// The tokens that they wrote.
    pub completion_tokens: i64,
}

/// The body of Create API Key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"name": "nightly", "scope": "write", "expires_in": 7_776_000})))]
pub struct CreateApiKey {
    /// What people call it: 1 to 256 characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256))]
    pub name: Option<String>,
    /// What it may do: `write`, `read` or `admin`; `write` where it is absent.
    pub scope: Option<String>,
    /// How long it works, in seconds; for ever where it is absent.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub expires_in: Option<i64>,
}

/// An API key, without its secret. Times are in Unix seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKey {
    /// The identifier of the key.
    pub id: String,
    /// The part of the key that may be shown.
    pub prefix: String,
    /// What people call it.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub name: Option<String>,
    /// What it may do: `write`, `read` or `admin`.
    pub scope: String,
    /// When it was made.
    pub created_at: i64,
    /// When it stops working; null for never.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub expires_at: Option<i64>,
    /// When it was revoked; null where it was not.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub revoked_at: Option<i64>,
    /// When it was used last, about a minute late; null where it was not.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub last_used_at: Option<i64>,
}

/// A key that was made just now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKeyCreated {
    /// The key itself. It is told in no other answer than those to repeats of this call.
    pub key: String,
    /// What is kept of it.
    pub record: ApiKey,
}

/// The keys of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApiKeyList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// The keys, oldest first: all that work, and the newest 1,000 of those that were revoked or have expired.
    pub data: Vec<ApiKey>,
    /// Whether older keys that do not work any more are left out.
    pub is_cut: bool,
}

/// The body of Create Grant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({"amount": "25", "source": "invoice 2026-117"})))]
pub struct CreateGrant {
    /// How many credits, as a decimal number; less than nothing takes back what is available.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub amount: String,
    /// What it is for: of one source an account is granted once. 1 to 256 characters.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 256))]
    pub source: Option<String>,
}

/// A grant, as it was posted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantCreated {
    /// What it is for.
    pub source: String,
    /// How many credits.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub amount: String,
    /// Whether it was posted by this call; otherwise the same was granted before, and nothing changed.
    pub is_new: bool,
    /// What the account has available now.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub available: String,
}

/// A grant in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Grant {
    /// What it is for.
    pub source: String,
    /// How many credits.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^-?\d+(\.\d+)?$"))]
    pub amount: String,
    /// When it was posted, in Unix seconds.
    pub created_at: i64,
}

/// A page of grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GrantList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// The grants, the newest first. A page may have fewer than `limit`, even none, and not be the last.
    pub data: Vec<Grant>,
    /// The `after` of the next page; null where this is the last.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next: Option<String>,
}

/// Which page of a list is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct PageFilter {
    /// What is behind this place: the `next` of the page before.
    pub after: Option<String>,
    /// So many at most, 1 to 100; 20 where it is absent.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 100))]
    pub limit: Option<u32>,
}
