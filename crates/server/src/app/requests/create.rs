//! Create Request.

use std::sync::Arc;

use bytes::Bytes;
use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, RawObject};
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::records::{ClientFields, RequestSummary};
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;
use overnight_wire::native::requests::CREATE_MEMBERS;

use crate::app::errors::AppError;
use crate::app::fifo_baselines::Arrival;
use crate::app::idempotency::{self, Answered, Repeatable};
use crate::app::models::Model;
use crate::app::parsing::parse;
use crate::app::{Actor, Models, Services, input};
use crate::config::ModelConfig;
use crate::store::idempotency_keys::{Guard, Guarded};
use crate::store::ledger::holds::{Admission, Hold};
use crate::store::requests::{self, NewRequest};
use crate::traces;

/// Makes of the body of a dialect's Create Request that of the native one, or says its faults.
pub type Reading = fn(JsonText) -> Result<JsonText, Faults>;

const MODEL: &str = "request_body.model";

/// What the body of a call says beside what a request is made of, such as how it is to be answered. Nothing is stored.
///
/// # Errors
///
/// [`AppError::Invalid`] where it is no JSON, or `read` finds faults.
pub async fn look<T: Send + 'static>(
    services: &Services,
    account: AccountKey,
    body: &Bytes,
    read: fn(Json<'_>) -> Result<T, Faults>,
) -> Result<T, AppError> {
    let body = body.clone();
    parse(services, account, body.len(), move |_| Ok(read(input::read(&body)?.as_json())?)).await
}

/// Takes a chat completion in from the JSON text of the body of a dialect's Create Request. Once this returns, it survives anything.
///
/// # Errors
///
/// [`AppError::Invalid`] with every fault found; [`AppError::QuotaExceeded`] where the account uses all that it may;
/// [`AppError::InsufficientCredits`] where it cannot pay the most that the request may cost; [`AppError::IdempotencyKeyReused`]
/// where the call has the key of another; [`AppError::Unavailable`] where nothing is taken in now.
pub async fn create(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    reading: Reading,
    call: Option<Repeatable<RequestSummary>>,
) -> Result<Answered<RequestSummary>, AppError> {
    create_for(services, account, Endpoint::ChatCompletions, body, reading, call).await
}

/// As [`create`], of a request for any endpoint.
pub async fn create_for(
    services: &Services,
    account: AccountKey,
    endpoint: Endpoint,
    body: Bytes,
    reading: Reading,
    call: Option<Repeatable<RequestSummary>>,
) -> Result<Answered<RequestSummary>, AppError> {
    let rate = services.rate_limits.take(account, services.clock.now());
    create_within_rate(services, account, Sent { endpoint, body, reading }, call, rate).await
}

/// The body of a call, and how it is read.
struct Sent {
    endpoint: Endpoint,
    body: Bytes,
    reading: Reading,
}

/// As [`create`], for a call that has waited until [`take_rate`] let it through.
pub async fn create_admitted(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    reading: Reading,
    call: Option<Repeatable<RequestSummary>>,
) -> Result<Answered<RequestSummary>, AppError> {
    let sent = Sent { endpoint: Endpoint::ChatCompletions, body, reading };
    create_within_rate(services, account, sent, call, Ok(())).await
}

/// Waits until the account may create one more request in this second.
pub async fn take_rate(services: &Services, account: AccountKey) {
    while let Err(exceeded) = services.rate_limits.take(account, services.clock.now()) {
        services.clock.sleep_until(services.clock.now() + exceeded.retry_after_ms).await;
    }
}

/// Whether the account may create one more request in this second; if so, it counts.
pub(in crate::app) fn rate_allows(services: &Services, account: AccountKey) -> bool {
    services.rate_limits.take(account, services.clock.now()).is_ok()
}

async fn create_within_rate(
    services: &Services,
    account: AccountKey,
    sent: Sent,
    call: Option<Repeatable<RequestSummary>>,
    rate: Result<(), QuotaExceeded>,
) -> Result<Answered<RequestSummary>, AppError> {
    let guard = idempotency::guard(services, account, &sent.body, call).await?;
    let outcome = match rate {
        Ok(()) => create_now(services, account, sent, guard).await,
        Err(exceeded) => Err(exceeded.into()),
    };
    idempotency::or_repeat(services, account, guard, outcome).await
}

async fn create_now(
    services: &Services,
    account: AccountKey,
    sent: Sent,
    guard: Option<Guard<RequestSummary>>,
) -> Result<Answered<RequestSummary>, AppError> {
    let Sent { endpoint, body, reading } = sent;
    let bytes = body.len();
    let make = move |services: &Services| {
        let text = reading(input::read(&body)?)?;
        Ok(review_text(services, endpoint, &text, services.clock.now())?.into_coming(services, account))
    };
    let coming = parse(services, account, bytes, make).await?;
    take_in(services, coming, guard).await
}

/// Stores a request that was reviewed.
///
/// # Errors
///
/// As [`create`], but for what a review finds.
pub(in crate::app) async fn take_in(
    services: &Services,
    coming: Coming,
    guard: Option<Guard<RequestSummary>>,
) -> Result<Answered<RequestSummary>, AppError> {
    let Coming { mut request, arrival } = coming;
    request.trace = traces::of_request();
    request.api_key = Actor::api_key();
    request.fifo_hit_permille = request.fifo_hit_permille.or_else(|| arrival.as_ref()?.hit_permille());
    let summary = request.summary();
    let _announcement = Announcement { services, ready_at: request.ready_at };
    match requests::insert_once(&services.store, request, guard).await? {
        Guarded::Done(Admission::Taken) => arrival.iter().for_each(Arrival::arrive),
        Guarded::Done(Admission::Suspended) => return Err(AppError::AccountSuspended),
        Guarded::Done(Admission::OverQuota(exceeded)) => return Err(exceeded.into()),
        Guarded::Done(Admission::InsufficientCredits { required, available }) => {
            return Err(AppError::InsufficientCredits { required, available });
        }
        Guarded::Recalled(recalled) => return idempotency::response(recalled).map(Answered::Repeat),
    }
    Ok(Answered::New(summary))
}

/// Tells the scheduler on the way out, also when the caller leaves early: the write is in line and will be done.
struct Announcement<'a> {
    services: &'a Services,
    ready_at: i64,
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        self.services.signals.accepted(self.ready_at, self.services.clock.now());
    }
}

/// A request that is to be taken in.
pub(in crate::app) struct Coming {
    pub(in crate::app) request: NewRequest,
    arrival: Option<Arrival>,
}

impl Coming {
    /// The same, arrived before it is stored: for requests of which it is known that they are taken in, and that come together.
    pub(in crate::app) fn arrived(mut self) -> Self {
        if let Some(arrival) = self.arrival.take() {
            self.request.fifo_hit_permille = arrival.hit_permille();
            arrival.arrive();
        }
        self
    }
}

/// A request that keeps every rule.
pub(in crate::app) struct Reviewed {
    body: RequestBody,
    pub(in crate::app) model: Arc<Model>,
    client: ClientFields,
}

/// Reads the JSON text of Create Request's body, of a request for an endpoint. Nothing is stored.
///
/// # Errors
///
/// [`AppError::Invalid`] with every fault found.
pub(in crate::app) fn review(
    services: &Services,
    endpoint: Endpoint,
    body: &[u8],
) -> Result<Reviewed, AppError> {
    review_text(services, endpoint, &input::read(body)?, services.clock.now())
}

/// As [`review`], of a text that was read and came at `asked_at`, in milliseconds: it may name what was offered then.
pub(in crate::app) fn review_text(
    services: &Services,
    endpoint: Endpoint,
    text: &JsonText,
    asked_at: i64,
) -> Result<Reviewed, AppError> {
    let config = services.config();
    let mut faults = Faults::default();
    let Some(object) = input::object(text, &CREATE_MEMBERS.map(|(name, _)| name), &mut faults) else {
        return Err(faults.into());
    };
    let body = request_body(services, endpoint, &object, asked_at, &mut faults);
    let client = ClientFields {
        metadata: input::metadata(&object, &config.limits, &mut faults).map(Bytes::from),
        webhook: input::webhook(&object, &config.webhooks, &mut faults),
    };
    check_completion_window(&object, &mut faults);
    if let Some((body, model)) = &body {
        body.check_answer_size(&model.config.sizing(), "request_body", &mut faults);
    }
    let Some((body, model)) = body.filter(|_| faults.is_empty()) else { return Err(faults.into()) };
    Ok(Reviewed { body, model, client })
}

impl Reviewed {
    /// What it is to hold; `None` where nothing is charged.
    pub(in crate::app) fn hold(&self) -> Option<Hold> {
        self.model.hold(&self.body)
    }

    /// The bytes that it is to store.
    pub(in crate::app) fn stored_bytes(&self) -> i64 {
        requests::stored_bytes(self.body.text().as_str().as_bytes(), &self.client)
    }

    /// The request as it is to be taken in, made now.
    pub(in crate::app) fn into_coming(self, services: &Services, account: AccountKey) -> Coming {
        let hold = self.hold();
        let Self { body, model, client } = self;
        let now = services.clock.now();
        let secret = services.store.sort_key_secret();
        let (sort_key, arrival) = services.fifo_baselines.read(secret, account, &model, &body);
        let request = NewRequest {
            id: services.ids.next(now),
            account,
            model: model.key,
            alias: model.alias(body.model()),
            created_at: now,
            expires_at: now + COMPLETION_WINDOW_MS,
            ready_at: now + services.config().aggregation_period.0,
            sort_key,
            cost: i64::from(body.estimate_cost(&model.config.sizing())),
            hold,
            max_tokens: body.max_tokens(&model.config.sizing()),
            fifo_hit_permille: None,
            trace: None,
            api_key: None,
            endpoint: body.endpoint(),
            batch: None,
            client,
            body: body.into_text().into_string().into_bytes().into(),
        };
        Coming { request, arrival }
    }
}

fn request_body(
    services: &Services,
    endpoint: Endpoint,
    object: &RawObject<'_>,
    asked_at: i64,
    faults: &mut Faults,
) -> Option<(RequestBody, Arc<Model>)> {
    let Some(value) = object.get("request_body") else {
        faults.push("request_body", codes::MISSING, "is required");
        return None;
    };
    match RequestBody::parse(endpoint, value, "request_body", &services.config().limits) {
        Ok(body) => {
            let model = offered_model(services, body.model(), asked_at, faults)?;
            Some((body, model))
        }
        Err(found) => {
            let is_named = found.kept().iter().all(|fault| fault.param != MODEL);
            faults.append(found);
            let body = value.to_object().filter(|_| is_named);
            if let Some(name) = body.and_then(|body| body.get("model")?.decode_string()) {
                offered_model(services, &name, asked_at, faults);
            }
            None
        }
    }
}

/// The model of this name, or a fault.
fn offered_model(services: &Services, name: &str, asked_at: i64, faults: &mut Faults) -> Option<Arc<Model>> {
    let models = services.models();
    let found = models.find(name);
    if let Some(model) = found.filter(|model| model.config.is_offered(asked_at)) {
        return Some(Arc::clone(model));
    }
    refuse_model(&models, found.map(|model| &model.config), name, asked_at, faults);
    None
}

/// Refuses a name: of no model, or of one that was `found` and takes no new requests.
fn refuse_model(
    models: &Models,
    found: Option<&ModelConfig>,
    name: &str,
    asked_at: i64,
    faults: &mut Faults,
) {
    if let Some(ModelConfig { retires_at: Some(at), replaced_by, .. }) = found {
        let successor = replaced_by.as_ref().map(|successor| format!(": use '{}'", Quoted(successor)));
        let message = format_args!(
            "must not be '{}', which takes no new requests since {at}{}",
            Quoted(name),
            successor.unwrap_or_default()
        );
        return faults.push(MODEL, codes::MODEL_RETIRED, message);
    }
    let names: Vec<&str> = models.offered(asked_at).map(|model| model.config.name.as_str()).collect();
    let message = format_args!("must be one of {}, not '{}'", names.join(", "), Quoted(name));
    faults.push(MODEL, codes::UNKNOWN_VALUE, message);
}

fn check_completion_window(object: &RawObject<'_>, faults: &mut Faults) {
    let Some(value) = object.get("completion_window") else { return };
    match value.decode_string() {
        Some(window) if window == "24h" => {}
        Some(_) => faults.push("completion_window", codes::UNKNOWN_VALUE, "must be \"24h\""),
        None => faults.push("completion_window", codes::WRONG_TYPE, "must be \"24h\", the only one there is"),
    }
}
