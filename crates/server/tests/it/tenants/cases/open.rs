//! Open operations: they belong to no account, or to anybody with the secret in the path or body.

use super::{Case, open};
use crate::tenants::sent::Sent::{Form, Json};

pub(super) const CASES: &[Case] = &[
    open("GET /livez"),
    open("GET /readyz"),
    open("GET /metrics"),
    open("GET /"),
    open("GET /openapi.json"),
    open("GET /docs"),
    open("GET /docs/style.css"),
    open("GET /payments/thanks"),
    open("POST /hooks/stripe").sending(Json(r#"{"id":"evt_1","type":"checkout.session.completed"}"#)),
    open("GET /console/sign-in"),
    open("POST /console/sign-in")
        .sending(Form(&[("email", "nobody@example.com"), ("password", "a long enough one")])),
    open("GET /console/invitation/{token}"),
    open("POST /console/invitation/{token}").sending(Form(&[("password", "a long enough one")])),
    open("GET /console/sign-in/link/{token}"),
    open("POST /console/sign-in/link/{token}"),
    open("GET /console/sign-in/oidc"),
    open("GET /console/sign-in/oidc/callback"),
    open("GET /console/assets/{file}"),
];
