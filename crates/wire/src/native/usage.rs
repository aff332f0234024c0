//! Completed requests and charges of an account, by day, model and API key.

use serde::{Deserialize, Serialize};

/// The requests of one group that completed. A field by which the list is not grouped is null.
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
    /// The API key that created the requests, which may be revoked by now. Null too for requests that no key created, such as those from the
    /// console.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub api_key_id: Option<String>,
    /// The name of the key.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub api_key_name: Option<String>,
    /// How many requests completed.
    pub requests: i64,
    /// Their input tokens.
    pub prompt_tokens: i64,
    /// Their output tokens.
    pub completion_tokens: i64,
    /// Their charge, as a decimal number of credits.
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
    /// The `after` of the next page; null on the last page. It may contain any character of a model's name: percent-encode it in the query.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    pub next: Option<String>,
}

/// The days and the grouping of a list of usage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct UsageFilter {
    /// The fields by which the list is grouped: any of `day`, `model` and `api_key`, with commas between them. The default is `day,model`.
    #[cfg_attr(feature = "openapi", param(pattern = "^(day|model|api_key)(,(day|model|api_key)){0,2}$"))]
    pub group_by: Option<String>,
    /// The first day (UTC), as `2026-11-01`. The default is 29 days before the last day.
    #[cfg_attr(feature = "openapi", param(format = "date"))]
    pub first_day: Option<String>,
    /// The last day (UTC), at most 30 days after the first one. The default is today; on a page with `after`, the last day of the page before.
    #[cfg_attr(feature = "openapi", param(format = "date"))]
    pub last_day: Option<String>,
    /// The `next` of the page before, percent-encoded. The call has the same `group_by` as that page, and the same `last_day` or none.
    pub after: Option<String>,
    /// The greatest number of records, from 1 to 1,000. The default is 100.
    #[cfg_attr(feature = "openapi", param(minimum = 1, maximum = 1000))]
    pub limit: Option<u32>,
}
