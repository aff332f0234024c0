//! The operations of the native dialect.

use super::Noun::{Account, Batch, Key, Request, RequestOfBatch};
use super::Place::{Body, LastEvent, Query};
use super::Stage::Completed;
use super::{Case, program};
use crate::tenants::sent::Sent::{Json, Lines};

pub(super) const REQUEST: &str =
    r#"{"request_body":{"model":"llama-3.1-8b-instruct","messages":[{"role":"user","content":"hello"}]}}"#;

/// An operation that no key of an account may call, for its own account or another.
const fn admin(operation: &'static str) -> Case {
    program(operation).naming(&[Account]).refused(403)
}

pub(super) const CASES: &[Case] = &[
    program("GET /v1/requests"),
    program("GET /v1/requests").naming_in(Query("after=ID"), &[Request]),
    program("GET /v1/requests").naming_in(Query("full=true&order=desc&after=ID"), &[Request]),
    program("POST /v1/requests").sending(Json(REQUEST)),
    program("POST /v1/requests").sending(Lines(REQUEST)),
    program("GET /v1/requests/{request_id}").naming(&[Request]),
    program("DELETE /v1/requests/{request_id}").naming(&[Request]).once(Completed),
    program("GET /v1/requests/{request_id}/status").naming(&[Request]),
    program("POST /v1/requests/{request_id}/cancel").naming(&[Request]),
    program("GET /v1/batches"),
    program("GET /v1/batches").naming_in(Query("after=ID"), &[Batch]),
    program("POST /v1/batches")
        .naming_in(Body, &[Request])
        .sending(Json(r#"{"requests_ids":["ID"],"metadata":{"n":NEW}}"#)),
    program("GET /v1/batches/{batch_id}").naming(&[Batch]),
    program("DELETE /v1/batches/{batch_id}").naming(&[Batch]).once(Completed),
    program("GET /v1/batches/{batch_id}/status").naming(&[Batch]),
    program("GET /v1/batches/{batch_id}/requests").naming(&[Batch]),
    program("GET /v1/batches/{batch_id}/results").naming(&[Batch]),
    program("GET /v1/batches/{batch_id}/results")
        .naming_in(Query("after=ID"), &[RequestOfBatch])
        .once(Completed),
    program("GET /v1/batches/{batch_id}/results").naming_in(LastEvent, &[RequestOfBatch]).once(Completed),
    program("POST /v1/batches/{batch_id}/cancel").naming(&[Batch, Request]),
    program("GET /v1/models"),
    program("GET /v1/account"),
    program("GET /v1/usage"),
    program("GET /v1/usage").naming_in(Query("group_by=api_key&after=2025-06-15,,ID,"), &[Key]),
    program("GET /v1/admin/accounts").refused(403),
    program("POST /v1/admin/accounts").sending(Json(r#"{"name":"another NEW"}"#)).refused(403),
    admin("GET /v1/admin/accounts/{account_id}"),
    admin("POST /v1/admin/accounts/{account_id}/activate"),
    admin("POST /v1/admin/accounts/{account_id}/suspend"),
    admin("POST /v1/admin/accounts/{account_id}/resume"),
    admin("POST /v1/admin/accounts/{account_id}/limits").sending(Json(r#"{"tokens_per_day":NEW}"#)),
    admin("POST /v1/admin/accounts/{account_id}/retention").sending(Json(r#"{"retention_seconds":604800}"#)),
    admin("POST /v1/admin/accounts/{account_id}/monthly_credits").sending(Json(r#"{"amount":"25"}"#)),
    admin("POST /v1/admin/accounts/{account_id}/low_credits")
        .sending(Json(r#"{"threshold":"10","webhook":"https://hooks.example/"}"#)),
    admin("POST /v1/admin/accounts/{account_id}/close"),
    admin("POST /v1/admin/accounts/{account_id}/erase"),
    admin("GET /v1/admin/accounts/{account_id}/totals"),
    admin("GET /v1/admin/accounts/{account_id}/usage"),
    admin("GET /v1/admin/accounts/{account_id}/api_keys"),
    admin("POST /v1/admin/accounts/{account_id}/api_keys").sending(Json(r#"{"name":"another NEW"}"#)),
    admin("POST /v1/admin/accounts/{account_id}/api_keys/{api_key_id}/revoke"),
    admin("GET /v1/admin/accounts/{account_id}/grants"),
    admin("POST /v1/admin/accounts/{account_id}/grants").sending(Json(r#"{"amount":"25"}"#)),
];
