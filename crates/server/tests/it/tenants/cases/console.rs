//! The pages and forms of the console.

use super::Noun::{Account, Batch, Event, Key, Member, Request};
use super::Place::{Cookie, Query};
use super::Stage::Failed;
use super::{Case, member, operator};
use crate::tenants::sent::Sent::{Form, Parts};

const LINES: &[(&str, &str)] = &[
    (
        "name=\"lines\"",
        "{\"model\":\"llama-3.1-8b-instruct\",\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}",
    ),
    ("name=\"name\"", "several"),
];

pub(super) const CASES: &[Case] = &[
    member("GET /console"),
    member("POST /console/sign-out"),
    member("GET /console/you"),
    // The cookie with the account shown last.
    member("GET /console/you").naming_in(Cookie("overnight_account_8080"), &[Account]),
    member("POST /console/you").sending(Form(&[("password", "a long enough one")])),
    member("POST /console/you/sign-out-everywhere"),
    member("GET /console/{account}"),
    member("GET /console/{account}/requests"),
    member("GET /console/{account}/requests").naming_in(Query("batch=ID"), &[Batch]),
    member("GET /console/{account}/requests")
        .naming_in(Query("batch=ID&status=failed"), &[Batch])
        .once(Failed),
    member("GET /console/{account}/requests").naming_in(Query("before=ID"), &[Request]),
    member("GET /console/{account}/requests").naming_in(Query("search=ID"), &[Request, Batch]),
    member("GET /console/{account}/requests/{request}").naming(&[Request]),
    member("GET /console/{account}/requests/{request}/record").naming(&[Request]),
    member("POST /console/{account}/requests/{request}/cancel").naming(&[Request]),
    member("POST /console/{account}/requests/{request}/again").naming(&[Request]).once(Failed),
    member("GET /console/{account}/batches"),
    member("GET /console/{account}/batches").naming_in(Query("before=ID"), &[Batch]),
    member("GET /console/{account}/batches").naming_in(Query("search=ID"), &[Request, Batch]),
    member("GET /console/{account}/batches/{batch}").naming(&[Batch]),
    member("GET /console/{account}/batches/{batch}/results").naming(&[Batch]),
    member("POST /console/{account}/batches/{batch}/cancel").naming(&[Batch]),
    member("POST /console/{account}/batches/{batch}/again").naming(&[Batch]).once(Failed),
    member("GET /console/{account}/new"),
    member("POST /console/{account}/new").sending(Parts(LINES)),
    member("POST /console/{account}/new/check").sending(Parts(LINES)),
    member("GET /console/{account}/playground"),
    member("POST /console/{account}/playground")
        .sending(Form(&[("model", "llama-3.1-8b-instruct"), ("prompt", "hello")])),
    member("GET /console/{account}/models"),
    member("GET /console/{account}/webhooks"),
    member("POST /console/{account}/webhooks/rotate"),
    member("POST /console/{account}/webhooks/test").sending(Form(&[("url", "https://example.com/NEW")])),
    member("POST /console/{account}/webhooks/replay"),
    member("GET /console/{account}/webhooks/{event}").naming(&[Event]),
    member("POST /console/{account}/webhooks/{event}/replay").naming(&[Event]),
    member("GET /console/{account}/keys"),
    member("POST /console/{account}/keys").sending(Form(&[("name", "another"), ("expires", "never")])),
    member("POST /console/{account}/keys/{key}/revoke").naming(&[Key]),
    member("GET /console/{account}/account"),
    member("POST /console/{account}/account/invitations")
        .sending(Form(&[("email", "invited-NEW@example.com"), ("role", "viewer")])),
    member("POST /console/{account}/account/invitations/withdraw")
        .sending(Form(&[("email", "nobody@example.com")])),
    member("POST /console/{account}/account/members/{user}")
        .naming(&[Member])
        .sending(Form(&[("role", "developer")])),
    member("GET /console/{account}/audit-log"),
    member("GET /console/{account}/credits"),
    member("GET /console/{account}/credits/top-up"),
    member("POST /console/{account}/credits/top-up").sending(Form(&[("amount", "25")])),
    operator("GET /console/operator"),
    operator("GET /console/operator/audit-log"),
    operator("POST /console/operator/accounts").sending(Form(&[("name", "another NEW")])),
    operator("POST /console/operator/accounts/{account}/activate").naming(&[Account]),
    operator("POST /console/operator/accounts/{account}/suspend").naming(&[Account]),
    operator("POST /console/operator/accounts/{account}/resume").naming(&[Account]),
    operator("POST /console/operator/accounts/{account}/grant")
        .naming(&[Account])
        .sending(Form(&[("amount", "25")])),
    operator("POST /console/operator/users").sending(Form(&[("email", "made-NEW@example.com")])),
    operator("POST /console/operator/users/{user}/link").naming(&[Member]),
    operator("POST /console/operator/users/{user}/remove").naming(&[Member]),
];
