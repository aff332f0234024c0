//! The routes of the stand-in.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State as Shared};
use axum::http::header::{AUTHORIZATION, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::form_urlencoded::{self, Serializer};

use super::{Grant, Person, Records, State, Trouble, tokens};
use crate::time;

/// How long an ID token holds, in seconds.
const VALID: u64 = 300;

type Fields = HashMap<String, String>;

/// The calls that there are.
pub(super) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/.well-known/openid-configuration", get(configuration))
        .route("/keys", get(keys))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/userinfo", get(user_info))
        .with_state(state)
}

async fn configuration(Shared(state): Shared<Arc<State>>) -> Response {
    state.records().discoveries += 1;
    let at = |path: &str| format!("{}{path}", state.issuer);
    axum::Json(json!({
        "issuer": state.issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "userinfo_endpoint": at("/userinfo"),
        "jwks_uri": at("/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "HS256", "none"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
    }))
    .into_response()
}

async fn keys(Shared(state): Shared<Arc<State>>) -> Response {
    axum::Json(json!({"keys": [state.records().key.public()]})).into_response()
}

/// Sends whoever comes back at once, as the person who was chosen.
async fn authorize(Shared(state): Shared<Arc<State>>, RawQuery(query): RawQuery) -> Response {
    let fields = fields(query.unwrap_or_default().as_bytes());
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let scope = field("scope");
    let is_right = field("client_id") == state.client_id
        && field("response_type") == "code"
        && field("code_challenge_method") == "S256"
        && scope.split(' ').any(|scope| scope == "openid")
        && scope.split(' ').any(|scope| scope == "email")
        && ["code_challenge", "state", "nonce", "redirect_uri"].iter().all(|name| !field(name).is_empty());
    if !is_right {
        return (StatusCode::BAD_REQUEST, format!("this is no request to sign in: {fields:?}"))
            .into_response();
    }
    let mut records = state.records();
    let mut answer = Serializer::new(String::new());
    if records.trouble == Some(Trouble::Denied) {
        answer.append_pair("error", "access_denied");
        answer.append_pair("error_description", "The person <b>did not</b> want it");
    } else {
        let grant = Grant {
            challenge: field("code_challenge"),
            nonce: field("nonce"),
            return_url: field("redirect_uri"),
            person: records.person.clone(),
            trouble: records.trouble,
        };
        let code = records.fresh("code");
        answer.append_pair("code", &code);
        records.codes.insert(code, grant);
    }
    answer.append_pair("state", &field("state"));
    let location = format!("{}?{}", field("redirect_uri"), answer.finish());
    (StatusCode::FOUND, [(LOCATION, location)]).into_response()
}

/// Tells who it is, for a code and what proves that the caller asked for it.
async fn token(Shared(state): Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Response {
    let basic = STANDARD.encode(format!("{}:{}", state.client_id, state.client_secret));
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if sent != Some(&*format!("Basic {basic}")) {
        return refused(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    let fields = fields(&body);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let mut records = state.records();
    // A code is used up by a wrong use too.
    let grant = records.codes.remove(&field("code"));
    let verifier = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
    let is_right = |grant: &Grant| {
        field("grant_type") == "authorization_code"
            && grant.return_url == field("redirect_uri")
            && grant.challenge == verifier
    };
    let Some(grant) = grant.filter(is_right) else {
        return refused(StatusCode::BAD_REQUEST, "invalid_grant");
    };
    let access = records.fresh("access");
    let Ok(id_token) = id_token(&state, &records, &grant) else {
        return refused(StatusCode::INTERNAL_SERVER_ERROR, "server_error");
    };
    let mut person = grant.person;
    if grant.trouble == Some(Trouble::WrongUserInfo) {
        person.subject.push_str("-other");
    }
    records.accesses.insert(access.clone(), person);
    axum::Json(json!({
        "access_token": access, "token_type": "Bearer", "expires_in": VALID, "id_token": id_token,
    }))
    .into_response()
}

async fn user_info(Shared(state): Shared<Arc<State>>, headers: HeaderMap) -> Response {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let access = sent.and_then(|sent| sent.strip_prefix("Bearer ")).unwrap_or_default();
    match state.records().accesses.get(access) {
        Some(person) => {
            let mut claims = json!({"sub": person.subject});
            tell_email(&mut claims, person);
            axum::Json(claims).into_response()
        }
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

fn id_token(state: &State, records: &Records, grant: &Grant) -> io::Result<String> {
    let is = |trouble| grant.trouble == Some(trouble);
    let now = time::unix_seconds();
    let (issued_at, expires_at) =
        if is(Trouble::Expired) { (now - VALID, now - 1) } else { (now, now + VALID) };
    let mut claims = json!({
        "iss": if is(Trouble::WrongIssuer) { "https://id.example.com" } else { &*state.issuer },
        "aud": if is(Trouble::WrongAudience) { "another" } else { &*state.client_id },
        "sub": grant.person.subject,
        "nonce": if is(Trouble::WrongNonce) { "another" } else { &*grant.nonce },
        "iat": issued_at,
        "exp": expires_at,
    });
    if !is(Trouble::ThinTokens) && !is(Trouble::WrongUserInfo) {
        tell_email(&mut claims, &grant.person);
    }
    match grant.trouble {
        Some(Trouble::ForeignSignature) => records.foreign_key.sign(&claims),
        Some(Trouble::Unsigned) => Ok(tokens::unsigned(&claims)),
        Some(Trouble::SignedWithSecret) => tokens::signed_with(&state.client_secret, &claims),
        _ => records.key.sign(&claims),
    }
}

fn tell_email(claims: &mut Value, person: &Person) {
    if let Some(email) = &person.email {
        claims["email"] = json!(email);
        claims["email_verified"] = json!(person.is_verified);
    }
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, axum::Json(json!({"error": error}))).into_response()
}

fn fields(text: &[u8]) -> Fields {
    form_urlencoded::parse(text).into_owned().collect()
}
