//! The operations of the dialect under `/exxa/v1`.

use super::Noun::{Batch, Request};
use super::Place::{Body, Query};
use super::native::REQUEST;
use super::{Case, program};
use crate::tenants::sent::Sent::Json;

pub(super) const CASES: &[Case] = &[
    program("GET /exxa/v1/requests"),
    program("GET /exxa/v1/requests").naming_in(Query("after=ID"), &[Request]),
    program("POST /exxa/v1/requests").sending(Json(REQUEST)),
    program("GET /exxa/v1/requests/{request_id}").naming(&[Request]),
    program("GET /exxa/v1/requests/{request_id}/status").naming(&[Request]),
    program("POST /exxa/v1/requests/{request_id}/cancel").naming(&[Request]),
    program("GET /exxa/v1/batches"),
    program("GET /exxa/v1/batches").naming_in(Query("after=ID"), &[Batch]),
    program("POST /exxa/v1/batches").naming_in(Body, &[Request]).sending(Json(r#"{"requests_ids":["ID"]}"#)),
    program("GET /exxa/v1/batches/{batch_id}").naming(&[Batch]),
    program("GET /exxa/v1/batches/{batch_id}/status").naming(&[Batch]),
    program("GET /exxa/v1/batches/{batch_id}/requests").naming(&[Batch]),
    program("GET /exxa/v1/batches/{batch_id}/results").naming(&[Batch]),
    program("POST /exxa/v1/batches/{batch_id}/cancel").naming(&[Batch, Request]),
    program("GET /exxa/v1/models"),
];
