use std::sync::Arc;

use bytes::Bytes;
use overnight_config::ModelConfig;
use overnight_domain::endpoint_rules::RequestBody;
use overnight_domain::endpoints::Endpoint;
use overnight_domain::faults::{Faults, Quoted, codes};
use overnight_domain::json::{Json, JsonText, RawObject};
use overnight_domain::quotas::QuotaExceeded;
use overnight_domain::records::{ClientFields, RequestSummary};
use overnight_domain::requests::COMPLETION_WINDOW_MS;
use overnight_domain::scheduler::AccountKey;
use overnight_outgoing::traces;
use overnight_store::idempotency_keys::{Guard, Guarded};
use overnight_store::ledger::holds::{Admission, Hold};
use overnight_store::requests::{self, NewRequest};
use overnight_wire::native::requests::CREATE_MEMBERS;

use super::fifo_baselines::Arrival;
use crate::errors::AppError;
use crate::idempotency::{self, Answered, Repeatable};
use crate::parsing::parse;
use crate::settings::Model;
use crate::{Actor, Models, Services, input};

/// Converts the body of a dialect's Create Request to the native one, or returns its faults.
pub type Reading = fn(JsonText) -> Result<JsonText, Faults>;

const MODEL: &str = "request_body.model";

/// Reads properties of a call's body that are not part of the request, such as the form of the answer. Stores nothing. Fails with
/// [`AppError::Invalid`] if the body is not JSON, or `read` finds faults.
pub async fn look<T: Send + 'static>(
    services: &Services,
    account: AccountKey,
    body: &Bytes,
    read: fn(Json<'_>) -> Result<T, Faults>,
) -> Result<T, AppError> {
    let body = body.clone();
    parse(services, account, body.len(), move |_| Ok(read(input::read(&body)?.as_json())?)).await
}

/// A body that a call sends to create a request.
pub struct Sent {
    pub endpoint: Endpoint,
    pub body: Bytes,
    /// Translates the body of a dialect.
    pub reading: Reading,
    /// `None` if the call has no idempotency key.
    pub call: Option<Repeatable<RequestSummary>>,
}

impl Sent {
    /// A chat completion.
    pub fn chat(body: impl Into<Bytes>, reading: Reading, call: Option<Repeatable<RequestSummary>>) -> Self {
        Self { endpoint: Endpoint::ChatCompletions, body: body.into(), reading, call }
    }

    /// A chat completion in the native dialect, without an idempotency key.
    pub fn native(body: impl Into<Bytes>) -> Self {
        Self::chat(body, Ok, None)
    }
}

/// Creates a request. Once this returns, the request is durable. [`AppError::Invalid`] has every fault found;
/// [`AppError::InsufficientCredits`] means that the account cannot pay the maximum cost.
pub async fn create(
    services: &Services,
    account: AccountKey,
    sent: Sent,
) -> Result<Answered<RequestSummary>, AppError> {
    let rate = services.rate_limits.take(account, services.clock.now());
    create_within(services, account, sent, rate).await
}

/// Like [`create`], for a caller that has checked the account's rate. A repeated call is answered even if the rate is exceeded.
pub async fn create_within(
    services: &Services,
    account: AccountKey,
    Sent { endpoint, body, reading, call }: Sent,
    rate: Result<(), QuotaExceeded>,
) -> Result<Answered<RequestSummary>, AppError> {
    let guard = idempotency::guard(services, account, &body, call).await?;
    let bytes = body.len();
    let make = move |services: &Services| {
        let text = reading(input::read(&body)?)?;
        Ok(review_text(services, endpoint, &text, services.clock.now())?.into_coming(services, account))
    };
    let outcome = async {
        rate?;
        take_in(services, parse(services, account, bytes, make).await?, guard).await
    };
    idempotency::or_repeat(services, account, guard, outcome.await).await
}

/// Waits until the account may create one more request in this second.
pub async fn take_rate(services: &Services, account: AccountKey) {
    while let Err(exceeded) = services.rate_limits.take(account, services.clock.now()) {
        services.clock.sleep_until(services.clock.now() + exceeded.retry_after_ms).await;
    }
}

/// Whether the account may create one more request in this second; if so, it counts.
pub(crate) fn rate_allows(services: &Services, account: AccountKey) -> bool {
    services.rate_limits.take(account, services.clock.now()).is_ok()
}

/// Stores a reviewed request.
pub(crate) async fn take_in(
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

/// Informs the scheduler when it is dropped, even if the caller leaves early: the write is queued and will be done.
struct Announcement<'a> {
    services: &'a Services,
    ready_at: i64,
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        self.services.signals.accepted(self.ready_at, self.services.clock.now());
    }
}

/// A request that is to be stored.
pub(crate) struct Coming {
    pub(crate) request: NewRequest,
    arrival: Option<Arrival>,
}

impl Coming {
    /// Sets the time of arrival before it is stored: for requests that arrive together and are sure to be stored.
    pub(crate) fn arrived(mut self) -> Self {
        if let Some(arrival) = self.arrival.take() {
            self.request.fifo_hit_permille = arrival.hit_permille();
            arrival.arrive();
        }
        self
    }
}

/// A request without faults.
pub(crate) struct Reviewed {
    body: RequestBody,
    pub(crate) model: Arc<Model>,
    client: ClientFields,
}

/// Reads the JSON text of Create Request's body for an endpoint. Stores nothing. [`AppError::Invalid`] has every fault found.
pub(crate) fn review(services: &Services, endpoint: Endpoint, body: &[u8]) -> Result<Reviewed, AppError> {
    review_text(services, endpoint, &input::read(body)?, services.clock.now())
}

/// Like [`review`], for a text that is already read. It arrived at `asked_at`, in milliseconds, and may name models offered then.
pub(crate) fn review_text(
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
    /// `None` if requests are free.
    pub(crate) fn hold(&self) -> Option<Hold> {
        self.model.hold(&self.body)
    }

    pub(crate) fn stored_bytes(&self) -> i64 {
        requests::stored_bytes(self.body.text().as_str().as_bytes(), &self.client)
    }

    /// The request to be stored, created now.
    pub(crate) fn into_coming(self, services: &Services, account: AccountKey) -> Coming {
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

/// The model of this name; adds a fault if it is not offered.
fn offered_model(services: &Services, name: &str, asked_at: i64, faults: &mut Faults) -> Option<Arc<Model>> {
    let models = services.models();
    let found = models.find(name);
    if let Some(model) = found.filter(|model| model.config.is_offered(asked_at)) {
        return Some(Arc::clone(model));
    }
    refuse_model(&models, found.map(|model| &model.config), name, asked_at, faults);
    None
}

/// Refuses a name that is unknown, or whose `found` model accepts no new requests.
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
