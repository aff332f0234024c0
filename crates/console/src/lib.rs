//! The console: pages for people, under `/console`. A handler takes the visitor and the input, calls use cases, and passes the result to a
//! page of `pages`.
//!
//! Handlers call the same use cases as the API and fill a page (`pages/`, with its template in `crates/console/templates/`).
//! Templates escape everything. Every call passes `guard.rs`: its own name in `Host`, its own pages by Fetch Metadata or `Origin`, and a
//! policy that runs no other script. Every page of an account asks the store for the visitor's role, so a removed role is gone with the
//! next click, and a foreign account looks like an unknown one. A live page is the same handler run again each second, sent when its answer
//! differs (`live.rs`). Sign-in is `crates/app/src/sessions/`: only digests of tokens are stored, an attempt is counted before its outcome
//! is known, and few password hashes are computed at a time.

mod accounts;
mod assets;
mod audit_log;
mod batches;
mod begun;
mod charts;
mod cookies;
mod credits;
mod forms;
mod guard;
mod invitations;
mod keys;
mod live;
mod members;
mod models;
mod new;
mod oidc;
mod operator;
mod overview;
mod pages;
mod replies;
mod requests;
mod sign_in;
mod uploads;
mod visitors;
mod webhooks;
mod you;

use std::sync::Arc;

use axum::routing::{get, post};
use axum::{Router, middleware};

use overnight_http::context::Shared;

/// Everything under `/console`.
pub fn routes(context: &Shared) -> Router<Shared> {
    let sign_in = Router::new()
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/invitation/{token}", get(invitations::page).post(invitations::join))
        .route("/sign-in/link/{token}", get(sign_in::link_page).post(sign_in::sign_in_by_link))
        .route("/sign-in/oidc", get(oidc::begin))
        .route("/sign-in/oidc/callback", get(oidc::finish));
    let pages = Router::new()
        .route("/", get(accounts::first))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/you", get(you::page).post(you::change))
        .route("/you/sign-out-everywhere", post(you::sign_out_everywhere))
        .route("/{account}", get(overview::page))
        .route("/{account}/requests", get(requests::list))
        .route("/{account}/requests/{request}", get(requests::page))
        .route("/{account}/requests/{request}/record", get(requests::record))
        .route("/{account}/requests/{request}/cancel", post(requests::cancel))
        .route("/{account}/requests/{request}/again", post(requests::again))
        .route("/{account}/batches", get(batches::list))
        .route("/{account}/batches/{batch}", get(batches::page))
        .route("/{account}/batches/{batch}/results", get(batches::results))
        .route("/{account}/batches/{batch}/cancel", post(batches::cancel))
        .route("/{account}/batches/{batch}/again", post(batches::again))
        .route("/{account}/new", get(new::page).post(new::submit).layer(new::body_limit()))
        .route("/{account}/new/check", post(new::check).layer(new::body_limit()))
        .route("/{account}/playground", get(models::playground).post(models::send))
        .route("/{account}/models", get(models::page))
        .route("/{account}/webhooks", get(webhooks::page))
        .route("/{account}/webhooks/rotate", post(webhooks::rotate))
        .route("/{account}/webhooks/test", post(webhooks::test))
        .route("/{account}/webhooks/replay", post(webhooks::replay_all))
        .route("/{account}/webhooks/{event}", get(webhooks::event))
        .route("/{account}/webhooks/{event}/replay", post(webhooks::replay))
        .route("/{account}/keys", get(keys::page).post(keys::create))
        .route("/{account}/keys/{key}/revoke", post(keys::revoke))
        .route("/{account}/account", get(members::page))
        .route("/{account}/account/invitations", post(invitations::invite))
        .route("/{account}/account/invitations/withdraw", post(invitations::withdraw))
        .route("/{account}/account/members/{user}", post(members::change))
        .route("/{account}/audit-log", get(audit_log::of_account))
        .route("/{account}/credits", get(credits::page))
        .route("/{account}/credits/top-up", get(credits::not_topped_up).post(credits::top_up))
        .route("/operator", get(operator::page))
        .route("/operator/audit-log", get(audit_log::of_service))
        .route("/operator/accounts", post(operator::create_account))
        .route("/operator/accounts/{account}/activate", post(operator::activate))
        .route("/operator/accounts/{account}/suspend", post(operator::suspend))
        .route("/operator/accounts/{account}/resume", post(operator::resume))
        .route("/operator/accounts/{account}/grant", post(operator::grant))
        .route("/operator/users", post(operator::create_user))
        .route("/operator/users/{user}/link", post(operator::link_user))
        .route("/operator/users/{user}/remove", post(operator::remove_user))
        .fallback(replies::no_such_page)
        .method_not_allowed_fallback(replies::no_such_page);
    let console = pages
        .layer(middleware::from_fn_with_state(Arc::clone(context), live::watch))
        .layer(middleware::from_fn_with_state(Arc::clone(context), visitors::remember_account))
        .merge(sign_in)
        .route("/assets/{file}", get(replies::asset))
        .layer(middleware::from_fn_with_state(Arc::clone(context), guard::admit));
    Router::new().nest("/console", console)
}
