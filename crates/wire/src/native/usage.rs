//! What an account completed and was charged for it, by day, model and API key.

use serde::{Deserialize, Serialize};

/// What completed of one group. What is not told apart is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(example = json!({
    "day": "2026-11-27",
    "model": null,
    "api_key_id": "key_01k2xbtvmrf1rb6v8tqk2z2y9j",
    "api_key_name": "nightly-eval",
    "requests": 1200,
    "prompt_tokens": 480_000,
    "completion_tokens": 96_000,
    "credits": "0.0624"
})))]
pub struct UsageRecord {
    /// The day (UTC) on which the requests completed.
    #[cfg_attr(feature = "openapi", schema(required = true, format = "date"))]
    pub day: Option<String>,
    /// The model.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub model: Option<String>,
    /// The API key by which the requests were created, also where it was revoked since; null too for requests that were created by none, such
    /// as those from the console.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub api_key_id: Option<String>,
    /// What people call the key.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub api_key_name: Option<String>,
    /// How many requests completed.
    pub requests: i64,
    /// The tokens that they read.
    pub prompt_tokens: i64,
    /// The tokens that they wrote.
    pub completion_tokens: i64,
    /// What was charged for them, as a decimal number of credits.
    #[cfg_attr(feature = "openapi", schema(pattern = r"^\d+(\.\d+)?$"))]
    pub credits: String,
}

/// A page of usage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UsageList {
    /// Always `list`.
    #[cfg_attr(feature = "openapi", schema(schema_with = super::schemas::list_object))]
    pub object: String,
    /// The groups in which anything completed: the oldest day first, and of one day the oldest model and key.
    pub data: Vec<UsageRecord>,
    /// The `after` of the next page; null where this is the last.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next: Option<String>,
}

/// Which usage is asked for, and how it is added up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct UsageFilter {
    /// What is told apart: any of `day`, `model` and `api_key`, with commas between them. `day,model` where it is absent.
    #[cfg_attr(feature = "openapi", param(pattern = "^(day|model|api_key)(,(day|model|api_key)){0,2}$"))]
    pub group_by: Option<String>,
    /// The first day (UTC), as `2026-11-01`; the 30th up to `last_day` where it is absent.
    #[cfg_attr(feature = "openapi", param(format = "date"))]
    pub first_day: Option<String>,
    /// The last day (UTC), at most 30 days after the first one; today where it is absent.
    #[cfg_attr(feature = "openapi", param(format = "date"))]
    pub last_day: Option<String>,
    /// What is behind this place: the `next` of the page before, asked with the same `group_by`.
    pub after: Option<String>,
    /// So many at most, 1 to 1,000; 100 where it is absent.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<u32>,
}
