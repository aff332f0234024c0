//! The path of every call: it gets a name, its key is checked, panics are contained, errors get their form, and it is counted.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::HttpBody;
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use overnight_app::administration::Administrator;
use overnight_app::api_keys::{self, Opened, Presented, UnreadKey};
use overnight_app::errors::AppError;
use overnight_app::{Actor, ActorId, ClientNetwork, ReadsFor};
use overnight_domain::api_keys::KeyScope;
use overnight_domain::faults::codes;
use overnight_domain::ids::{AccountId, CallId};
use overnight_domain::scheduler::AccountKey;
use overnight_outgoing::traces::{self, CallTrace};
use tracing::{Instrument, Span, field};

use super::context::{Context, Peer, Shared, caller};
use super::counters;
use super::dialects::Dialect;
use super::errors::{self, Refusal, WriteRefusal};
use super::extract::bearer;
use super::health;
use super::json_lines::{self, EndsInWords};
use super::metrics::CallTimer;
use super::permits::IsReserve;
use super::shares::{Buffer, Client, MemoryPermit};
use super::single_headers;
use super::tls::InTheOpen;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Responses of this many bytes take memory from their client's share. Lists do so themselves.
const LONG_BYTES: usize = 64 << 10;

/// The prefix of administration paths, for keys with the scope `admin`.
const ADMINISTRATION: &str = "/v1/admin/";

/// The account whose API key authenticated the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(pub(super) AccountKey);

impl FromRequestParts<Shared> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        parts.extensions.get().copied().ok_or(Refusal::App(AppError::InvalidApiKey))
    }
}

/// The API key with the scope `admin` that authenticated the call.
#[derive(Debug, Clone, Copy)]
pub(super) struct AdminKey(pub(super) Administrator);

impl FromRequestParts<Shared> for AdminKey {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refusal> {
        match parts.extensions.get::<Opened>() {
            None => Err(Refusal::App(AppError::InvalidApiKey)),
            Some(Opened { scope: KeyScope::Admin, account, key_id, .. }) => {
                Ok(Self(Administrator { account: *account, key: *key_id }))
            }
            Some(_) => Err(Refusal::InsufficientScope(KeyScope::Admin)),
        }
    }
}

/// Handles one call in a span that names it in all log lines, with the account once it is known. `next` is the handler: `native/mod.rs`
/// lists those of the API, each of which names its path, the crate `console` those of the console.
pub(super) async fn handle(State(context): State<Shared>, request: Request, next: Next) -> Response {
    let timer = CallTimer::start(request.method(), request.extensions().get::<MatchedPath>());
    let call: CallId = context.services.ids.next(context.services.clock.now());
    let (method, route) = (timer.method(), timer.route());
    // The most severe level, so that the call is named even if little is logged.
    let span = tracing::error_span!(
        "call",
        method,
        route,
        request_id = %call,
        account = field::Empty,
        trace_id = field::Empty
    );
    carry(context, call, timer, request, next).instrument(span).await
}

async fn carry(
    context: Shared,
    call: CallId,
    timer: CallTimer,
    mut request: Request,
    next: Next,
) -> Response {
    request.extensions_mut().insert(call);
    let dialect = context.dialect_of(request.uri().path());
    if let Some(dialect) = dialect {
        request.extensions_mut().insert(dialect);
    }
    let version = request.version();
    // The identity is added once it is known.
    let actor = Actor { id: ActorId::Service, address: address_of(&context, &request) };
    let trace = dialect.and_then(|_| context.services.traces.begin_call(traceparent(request.headers())));
    let admitted = CallTrace::scope(trace.clone(), actor.scope(admit(&context, request, next)));
    let answered = context.services.supervisor.call("call", call, admitted).await;
    let mut response = answered.unwrap_or_else(|_| Refusal::Panicked.into_response());
    let write_refusal = dialect.map_or(errors::write_envelope as WriteRefusal, |it| it.write_refusal);
    if response.status().is_client_error() || response.status().is_server_error() {
        errors::write(&mut response, call, write_refusal);
    }
    if response.extensions_mut().remove::<EndsInWords>().is_some() {
        response = response.map(|body| json_lines::end_in_words(body, call, write_refusal));
    }
    if let Ok(name) = HeaderValue::try_from(call.to_string()) {
        if let Some(header) = dialect.and_then(|dialect| dialect.call_header) {
            response.headers_mut().insert(HeaderName::from_static(header), name.clone());
        }
        response.headers_mut().insert(REQUEST_ID, name);
    }
    if context.services.signals.is_stopping() && version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    tracing::debug!(status = response.status().as_u16(), "answered call {call}");
    if let Some(trace) = trace {
        trace.end(call, timer.method(), timer.route(), response.status().as_u16(), timer.elapsed());
    }
    timer.stop(response.status());
    response
}

async fn admit(context: &Context, mut request: Request, next: Next) -> Response {
    if let Err(refusal) = single_headers::check(request.version(), request.headers()) {
        return refusal.into_response();
    }
    // PostgreSQL stores no text with this character, so no such text is found.
    if request.uri().query().is_some_and(|query| query.contains("%00")) {
        let refusal = AppError::invalid("query", codes::INVALID_ENCODING, "must not contain U+0000");
        return Refusal::from(refusal).into_response();
    }
    let client = match identify(context, &mut request).await {
        Ok(Some(client)) => client,
        Ok(None) => return ReadsFor::Unknown.scope(next.run(request)).await,
        Err(refusal) => return refusal.into_response(),
    };
    let Some(permit) = context.shares.begin_call(client) else {
        counters::count_over_share("calls");
        return Refusal::TooManyCalls.into_response();
    };
    let is_safe = request.method().is_safe();
    let rate = request.extensions().get::<Dialect>().and_then(|dialect| dialect.rate);
    let rate = rate.filter(|rate| rate.is_told(request.method(), request.uri().path()));
    let permit = Arc::new(permit);
    request.extensions_mut().insert(Arc::clone(&permit));
    request.extensions_mut().insert(client);
    let response = client.reads().scope(next.run(request)).await;
    let mut response = hold_memory(context, client, is_safe, response).await;
    response.extensions_mut().insert(permit);
    if let (Some(rate), Client::Account(account)) = (rate, client) {
        let now = context.services.clock.now();
        if let Some(standing) = context.services.rate_limits.standing(account, now) {
            rate.tell(&standing, now, response.headers_mut());
        }
    }
    response
}

/// The client whose share the call uses; `None` for a probe, or if a proxy does not name its client.
async fn identify(context: &Context, request: &mut Request) -> Result<Option<Client>, Refusal> {
    if request.extensions().get::<InTheOpen>().is_some() {
        return Err(Refusal::HttpsRequired);
    }
    if health::is_path(request.uri().path()) {
        return Ok(None);
    }
    // Reads and writes there would be wrong or lost.
    if context.services.supervisor.failure().is_some_and(|failure| failure.is_of_files()) {
        return Err(AppError::stopping().into());
    }
    if request.extensions().get::<IsReserve>().is_some() {
        return Err(AppError::Unavailable("too many connections are open".to_owned()).into());
    }
    if request.extensions().get::<Dialect>().is_some() {
        let opened = match api_keys::present(&context.services, presented_key(request.headers()))? {
            Presented::Opens(opened) => opened,
            Presented::Unread(key) => look_up(context, key, network_of(context, request)).await?,
        };
        name_account(opened.id);
        if let Some(trace) = traces::current() {
            trace.identify(opened.account, opened.id);
        }
        Actor::identify(ActorId::ApiKey(opened.key));
        let matched = request.extensions().get::<MatchedPath>();
        let is_administration = matched.is_some_and(|path| path.as_str().starts_with(ADMINISTRATION));
        check_access(opened, request.method(), is_administration)?;
        request.extensions_mut().insert(opened);
        request.extensions_mut().insert(Caller(opened.account));
        return Ok(Some(Client::Account(opened.account)));
    }
    Ok(network_of(context, request).map(Client::Network))
}

/// Checks again that the key of an admitted call still permits its method. Fails like a new call.
pub(super) async fn check_again(context: &Context, opened: Opened, method: &Method) -> Result<(), Refusal> {
    check_access(api_keys::look_again(&context.services, opened).await?, method, false)
}

/// Refuses changes with a read-only key or in a suspended account, and administration without an `admin` key. `admin` keys may administrate
/// even if their own account is suspended.
fn check_access(opened: Opened, method: &Method, is_administration: bool) -> Result<(), Refusal> {
    match opened {
        Opened { scope: KeyScope::Admin, .. } if is_administration => Ok(()),
        _ if is_administration => Err(Refusal::InsufficientScope(KeyScope::Admin)),
        _ if method.is_safe() => Ok(()),
        Opened { is_suspended: true, .. } => Err(AppError::AccountSuspended.into()),
        Opened { scope: KeyScope::Read, .. } => Err(Refusal::InsufficientScope(KeyScope::Write)),
        Opened { scope: KeyScope::Write | KeyScope::Admin, .. } => Ok(()),
    }
}

/// The address that the call comes from: the proxy's own if it does not name its client.
fn address_of(context: &Context, request: &Request) -> Option<IpAddr> {
    let Peer(peer) = request.extensions().get()?;
    Some(caller(&context.services.config().console, peer.ip(), request.headers()))
}

/// `None` if a proxy does not name its client.
fn network_of(context: &Context, request: &Request) -> Option<ClientNetwork> {
    let address = address_of(context, request)?;
    (!context.services.config().console.trusts(address)).then(|| ClientNetwork::of(address))
}

/// The account of a key. If its network sent many wrong keys, only keys that worked before are looked up.
async fn look_up(
    context: &Context,
    key: UnreadKey,
    network: Option<ClientNetwork>,
) -> Result<Opened, Refusal> {
    let counted = network.filter(|_| key.account.is_none());
    if let Some(network) = counted {
        let is_read = context.wrong_keys.count(network, context.services.clock.now());
        is_read.inspect_err(|_| counters::count_wrong_key_throttled()).map_err(Refusal::TooManyWrongKeys)?;
    }
    let unknown = || network.map_or(ReadsFor::Unknown, ClientNetwork::reads);
    let reads = key.account.map_or_else(unknown, ReadsFor::Account);
    let looked_up = reads.scope(api_keys::look_up(&context.services, key)).await;
    if let Some(network) = counted.filter(|_| !matches!(looked_up, Err(AppError::InvalidApiKey))) {
        context.wrong_keys.take_back(network);
    }
    Ok(looked_up?)
}

/// Adds memory to a long response unless its handler did. If there is none, safe calls are refused, and others wait.
async fn hold_memory(context: &Context, client: Client, is_safe: bool, mut response: Response) -> Response {
    if response.extensions().get::<Arc<MemoryPermit>>().is_some() {
        return response;
    }
    let length = response.body().size_hint().exact().and_then(|length| usize::try_from(length).ok());
    let Some(bytes) = length.filter(|bytes| *bytes >= LONG_BYTES) else { return response };
    let memory = match context.shares.try_memory(Buffer::Responses, client, bytes) {
        None if is_safe => {
            counters::count_over_share("memory");
            let why = "responses that were not read hold all of your memory".to_owned();
            return Refusal::from(AppError::Unavailable(why)).into_response();
        }
        None => context.shares.memory(Buffer::Responses, client, bytes).await,
        free => free,
    };
    if let Some(memory) = memory {
        response.extensions_mut().insert(Arc::new(memory));
    }
    response
}

/// Adds the account to further log lines of the call.
pub fn name_account(account: AccountId) {
    Span::current().record("account", field::display(account));
}

/// The caller's `traceparent`; two of them are ignored, as W3C requires.
fn traceparent(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(TRACEPARENT).iter();
    let only = all.next().filter(|_| all.next().is_none())?;
    only.to_str().ok()
}

/// `X-API-Key`, or else the token of `Authorization: Bearer`; empty if neither is present.
fn presented_key(headers: &HeaderMap) -> &[u8] {
    if let Some(key) = headers.get(API_KEY) {
        return key.as_bytes();
    }
    bearer(headers)
}

pub(super) async fn no_such_path(request: Request) -> Refusal {
    let (parts, _) = request.into_parts();
    match super::extract::check_path(&parts) {
        Err(refusal) => refusal,
        Ok(()) => Refusal::NoSuchPath,
    }
}

pub(super) async fn method_not_allowed() -> Refusal {
    Refusal::MethodNotAllowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_key_header_wins_over_the_bearer() {
        let mut headers = HeaderMap::new();
        assert_eq!(presented_key(&headers), b"");
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("bEaReR  token "));
        assert_eq!(presented_key(&headers), b"token");
        headers.insert(API_KEY, HeaderValue::from_static("key"));
        assert_eq!(presented_key(&headers), b"key");
        headers.remove(API_KEY);
        headers.insert(header::AUTHORIZATION, HeaderValue::from_static("Basic token"));
        assert_eq!(presented_key(&headers), b"");
    }
}
