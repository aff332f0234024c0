//! The routes of the stand-in.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, Request, State as Shared};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::form_urlencoded::{self, Serializer};

use super::{Grant, Person, Records, SecretGoes, State, Trouble, tokens};
use crate::time;

/// Validity of an ID token, in seconds.
const VALID: u64 = 300;
/// More than the difference of clocks that is allowed.
const LATER: u64 = 360;

type Fields = HashMap<String, String>;

pub(super) fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/.well-known/openid-configuration", get(configuration))
        .route("/keys", get(keys))
        .route("/authorize", get(authorize))
        .route("/token", post(token))
        .route("/userinfo", get(user_info))
        .layer(from_fn_with_state(Arc::clone(&state), answer_only))
        .with_state(state)
}

/// Replaces every answer with the status of `answers_only`, if set.
async fn answer_only(Shared(state): Shared<Arc<State>>, request: Request, next: Next) -> Response {
    let only = state.records().habits.answers_only.map(StatusCode::from_u16);
    match only {
        Some(Ok(status)) => (status, "<h1>Try again later</h1>").into_response(),
        _ => next.run(request).await,
    }
}

async fn configuration(Shared(state): Shared<Arc<State>>) -> Response {
    let habits = {
        let mut records = state.records();
        records.discoveries += 1;
        records.habits.clone()
    };
    let ways = match habits.secret_goes {
        SecretGoes::InTheHead => json!(["client_secret_basic"]),
        SecretGoes::InTheBody => json!(["client_secret_post"]),
        SecretGoes::InTheBodyOrUnescaped => json!(["client_secret_basic", "client_secret_post"]),
    };
    let at = |path: &str| format!("{}{path}", state.issuer);
    axum::Json(json!({
        "issuer": state.issuer,
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "userinfo_endpoint": at("/userinfo"),
        "jwks_uri": at("/keys"),
        "response_types_supported": ["code"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256", "EdDSA", "Ed25519", "HS256", "none"],
        "token_endpoint_auth_methods_supported": ways,
        "authorization_response_iss_parameter_supported": habits.names_itself,
        "code_challenge_methods_supported": ["S256"],
    }))
    .into_response()
}

async fn keys(Shared(state): Shared<Arc<State>>) -> Response {
    axum::Json(json!({"keys": [state.records().key.public()]})).into_response()
}

/// Sends every visitor back immediately, as the chosen person.
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
    match records.trouble {
        Some(Trouble::WrongReturn) => {
            answer.append_pair("iss", "https://id.example.com");
        }
        Some(Trouble::NamelessReturn) => {}
        _ if records.habits.names_itself => {
            answer.append_pair("iss", &state.issuer);
        }
        _ => {}
    }
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

/// Returns the tokens for a code and the proof that the caller requested it.
async fn token(Shared(state): Shared<Arc<State>>, headers: HeaderMap, body: Bytes) -> Response {
    let fields = fields(&body);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let mut records = state.records();
    if !shows_secret(&state, records.habits.secret_goes, &headers, &fields) {
        return refused(StatusCode::UNAUTHORIZED, "invalid_client");
    }
    // A wrong use consumes a code too.
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
    let (mut person, trouble) = (grant.person, grant.trouble);
    if trouble == Some(Trouble::WrongUserInfo) {
        person.subject.push_str("-other");
    }
    records.accesses.insert(access.clone(), (person, trouble));
    axum::Json(json!({
        "access_token": access, "token_type": "Bearer", "expires_in": VALID, "id_token": id_token,
    }))
    .into_response()
}

/// Whether the client's secret was sent in the required way, and only in that way.
fn shows_secret(state: &State, goes: SecretGoes, headers: &HeaderMap, fields: &Fields) -> bool {
    let (id, secret) = (&*state.client_id, &*state.client_secret);
    let is_in_body = fields.get("client_id").is_some_and(|sent| sent == id)
        && fields.get("client_secret").is_some_and(|sent| sent == secret);
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let decoded = sent.and_then(|sent| STANDARD.decode(sent.strip_prefix("Basic ")?).ok());
    let sent = decoded.and_then(|sent| String::from_utf8(sent).ok()).unwrap_or_default();
    let (sent_id, sent_secret) = sent.split_once(':').unwrap_or_default();
    let unescaped =
        |text: &str| form_urlencoded::parse(text.as_bytes()).next().map(|(text, _)| text.into_owned());
    match goes {
        SecretGoes::InTheBody => is_in_body && sent.is_empty(),
        SecretGoes::InTheBodyOrUnescaped => is_in_body != (sent_id == id && sent_secret == secret),
        SecretGoes::InTheHead => {
            unescaped(sent_id).as_deref() == Some(id)
                && unescaped(sent_secret).as_deref() == Some(secret)
                && !fields.contains_key("client_secret")
        }
    }
}

async fn user_info(Shared(state): Shared<Arc<State>>, headers: HeaderMap) -> Response {
    let sent = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let access = sent.and_then(|sent| sent.strip_prefix("Bearer ")).unwrap_or_default();
    let records = state.records();
    let Some((person, trouble)) = records.accesses.get(access) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let mut claims = json!({"sub": person.subject});
    tell_email(&mut claims, person);
    if !records.habits.signs_user_info {
        return axum::Json(claims).into_response();
    }
    claims["iss"] = json!(state.issuer);
    claims["aud"] = json!(state.client_id);
    if *trouble == Some(Trouble::UserInfoOfOthers) {
        claims["aud"] = json!("another");
    }
    let is_foreign = *trouble == Some(Trouble::ForeignUserInfo);
    let key = if is_foreign { &records.foreign_key } else { &records.key };
    match key.sign(&claims) {
        Ok(token) => ([(CONTENT_TYPE, "application/jwt; charset=utf-8")], token).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn id_token(state: &State, records: &Records, grant: &Grant) -> io::Result<String> {
    let is = |trouble| grant.trouble == Some(trouble);
    let now = time::unix_seconds();
    let (issued_at, expires_at) =
        if is(Trouble::Expired) { (now - VALID, now - 60) } else { (now, now + VALID) };
    let mut claims = json!({
        "iss": if is(Trouble::WrongIssuer) { "https://id.example.com" } else { &*state.issuer },
        "aud": if is(Trouble::WrongAudience) { "another" } else { &*state.client_id },
        "sub": grant.person.subject,
        "nonce": if is(Trouble::WrongNonce) { "another" } else { &*grant.nonce },
        "iat": if is(Trouble::IssuedLater) { now + LATER } else { issued_at },
        "nbf": if is(Trouble::ValidLater) { now + LATER } else { issued_at },
        "exp": expires_at,
    });
    if is(Trouble::IssuedToAnother) {
        claims["azp"] = json!("another");
    }
    let is_thin =
        [Trouble::ThinTokens, Trouble::WrongUserInfo, Trouble::ForeignUserInfo, Trouble::UserInfoOfOthers];
    if !is_thin.into_iter().any(is) {
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
    }
    if let Some(is_verified) = person.is_verified {
        claims["email_verified"] = json!(is_verified);
    }
    if let Some(edov) = &person.edov {
        claims["xms_edov"] = edov.clone();
    }
}

fn refused(status: StatusCode, error: &str) -> Response {
    (status, axum::Json(json!({"error": error}))).into_response()
}

fn fields(text: &[u8]) -> Fields {
    form_urlencoded::parse(text).into_owned().collect()
}
