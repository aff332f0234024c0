use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use overnight_domain::faults::{FAULTS_KEPT_MAX, Fault, Faults, Quoted, codes};
use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, JsonText, RawObject};
use overnight_domain::limits::Limits;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;
use overnight_store::StoreError;
use overnight_store::batches::{self, Member, Membership, NewBatch, NewBatchOutcome};
use overnight_store::idempotency_keys::{self, Guard, Guarded};

use crate::clock_checks::AHEAD_MS_MAX;
use crate::errors::{AppError, InputFault, InvalidInput};
use crate::idempotency::{self, Answered, Repeatable};
use crate::parsing::parse;
use crate::{Services, finish, input};

const FIELDS: [&str; 3] = ["requests_ids", "webhook", "metadata"];

/// Attempts to create a batch whose requests change meanwhile.
const TRIES_MAX: u32 = 8;

/// How long a call waits for another batch that is being created of the same requests, and the longest time between two looks.
const WAIT_MS: i64 = 25_000;
const LOOK_MS_MAX: i64 = 1_600;

/// A batch is left if no piece was added for so long: a write takes far less.
const LEFT_AFTER_MS: i64 = 15_000;

/// Why a request cannot be grouped.
mod reasons {
    use overnight_domain::faults::codes;

    pub(super) const UNKNOWN: (&str, &str) = (codes::UNKNOWN, "was not found in this account");
    pub(super) const DUPLICATE: (&str, &str) = (codes::DUPLICATE, "stands in the list before");
    pub(super) const IN_ANOTHER_BATCH: (&str, &str) = (codes::IN_ANOTHER_BATCH, "belongs to a batch already");
}

/// Groups existing requests from the JSON text of Create Batch's body: all of them, or none. [`AppError::Invalid`] has the first 1,000
/// faults and their count.
pub async fn create(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    call: Option<Repeatable<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    let guard = idempotency::guard(services, account, &body, call).await?;
    let outcome = create_now(services, account, body, guard).await;
    idempotency::or_repeat(services, account, guard, outcome).await
}

async fn create_now(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    let counted = |error| match error {
        AppError::Invalid(mut invalid) => {
            invalid.total = invalid.total.or(Some(invalid.details.len()));
            AppError::Invalid(invalid)
        }
        other => other,
    };
    let bytes = body.len();
    let read = move |services: &Services| input::read(&body).and_then(|text| read(services, &text));
    let input = parse(services, account, bytes, read).await.map_err(counted)?;
    make(services, account, input, guard).await
}

/// Groups existing requests: all of them, or none.
pub(crate) async fn make(
    services: &Services,
    account: AccountKey,
    input: Input,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    if let Some(guard) = &guard
        && let Some(recalled) = idempotency_keys::find(&services.store, account, &guard.key).await?
    {
        return idempotency::response(recalled).map(Answered::Repeat);
    }
    for _ in 0..TRIES_MAX {
        let members = resolve_free(services, account, &input.requests_ids).await?;
        let now = services.clock.now();
        let batch = NewBatch {
            id: services.ids.next(now),
            account,
            created_at: now,
            webhook: input.webhook.clone(),
            metadata: input.metadata.clone(),
            members,
        };
        let shared = services.clone();
        // Otherwise a batch whose client left would wait to be taken apart.
        let insert = async move {
            Ok(batches::insert_once(&shared.store, batch, guard, || shared.clock.now()).await?)
        };
        match finish(insert).await? {
            Guarded::Done(NewBatchOutcome::Created(record)) => return Ok(Answered::New(record)),
            Guarded::Done(NewBatchOutcome::Changed) => {}
            Guarded::Done(NewBatchOutcome::Suspended) => return Err(AppError::AccountSuspended),
            Guarded::Done(NewBatchOutcome::OverQuota(exceeded)) => return Err(exceeded.into()),
            Guarded::Recalled(recalled) => return idempotency::response(recalled).map(Answered::Repeat),
        }
    }
    Err(AppError::Unavailable("the requests keep changing".to_owned()))
}

/// As [`resolve`], once none of them is in a batch that is being created.
async fn resolve_free(
    services: &Services,
    account: AccountKey,
    requests_ids: &[String],
) -> Result<Vec<Member>, AppError> {
    let began = services.clock.now();
    let mut look_ms = LOOK_MS_MAX / 16;
    loop {
        let members = resolve(services, account, requests_ids).await?;
        if members.iter().all(|member| member.membership != Membership::InNewBatch) {
            return Ok(members);
        }
        let now = services.clock.now();
        if now - began >= WAIT_MS {
            let message = "some of the requests are in a batch that is being created";
            return Err(AppError::Unavailable(message.to_owned()));
        }
        services.clock.sleep_until(now + look_ms).await;
        look_ms = LOOK_MS_MAX.min(2 * look_ms);
    }
}

/// Releases the requests of batches whose creation a crash interrupted.
pub async fn finish_left(services: &Services, now: i64) -> Result<(), StoreError> {
    let apart = if services.store.is_shared() { AHEAD_MS_MAX } else { 0 };
    let under_way = now - LEFT_AFTER_MS - apart..=now + apart;
    batches::take_apart_left(&services.store, under_way).await
}

pub(crate) struct Input {
    /// In their text form.
    pub(crate) requests_ids: Vec<String>,
    pub(crate) webhook: Option<String>,
    /// A JSON object, or `None` for null.
    pub(crate) metadata: Option<Vec<u8>>,
}

fn read(services: &Services, text: &JsonText) -> Result<Input, AppError> {
    let config = &services.config();
    let mut faults = Faults::default();
    let Some(object) = input::object(text, &FIELDS, &mut faults) else { return Err(faults.into()) };
    let requests_ids = requests_ids(&object, &config.limits, &mut faults);
    let metadata = input::metadata(&object, &config.limits, &mut faults);
    let webhook = input::webhook(&object, &config.webhooks, &mut faults);
    if faults.is_empty() {
        return Ok(Input { requests_ids, webhook, metadata });
    }
    let total = Some(faults.total());
    let details = faults.into_kept().into_iter().map(InputFault::from).collect();
    Err(AppError::Invalid(InvalidInput { details, total }))
}

fn requests_ids(object: &RawObject<'_>, limits: &Limits, faults: &mut Faults) -> Vec<String> {
    let Some(list) = object.get("requests_ids") else {
        faults.push("requests_ids", codes::MISSING, "is required");
        return Vec::new();
    };
    let Some(elements) = list.elements() else {
        faults.push("requests_ids", codes::WRONG_TYPE, "must be an array of strings");
        return Vec::new();
    };
    let mut ids = Vec::new();
    for (place, element) in elements.enumerate() {
        if place == limits.batch_requests {
            let message = format_args!("must name at most {} requests", limits.batch_requests);
            faults.push("requests_ids", codes::OUT_OF_RANGE, message);
            return Vec::new();
        }
        match Json::decode_string(element) {
            Some(id) => ids.push(id.into_owned()),
            None => {
                faults.push(format_args!("requests_ids[{place}]"), codes::WRONG_TYPE, "must be a string");
            }
        }
    }
    if ids.is_empty() && faults.is_empty() {
        faults.push("requests_ids", codes::OUT_OF_RANGE, "must name at least one request");
    }
    ids
}

/// Finds each request in the order sent, or the reason why it cannot be grouped.
async fn resolve(
    services: &Services,
    account: AccountKey,
    requests_ids: &[String],
) -> Result<Vec<Member>, AppError> {
    let ids: Vec<RequestId> = requests_ids.iter().filter_map(|text| RequestId::parse(text)).collect();
    let found = batches::resolve(&services.store, account, &ids).await?;
    let found: HashMap<RequestId, Member> = found.into_iter().map(|member| (member.id, member)).collect();
    let mut seen = HashSet::with_capacity(requests_ids.len());
    let mut members = Vec::with_capacity(requests_ids.len());
    let mut refused = Refused::default();
    for (place, text) in requests_ids.iter().enumerate() {
        let member = RequestId::parse(text).and_then(|id| found.get(&id));
        match member {
            _ if !seen.insert(text.as_str()) => refused.push(place, text, reasons::DUPLICATE),
            None => refused.push(place, text, reasons::UNKNOWN),
            Some(member) if member.membership == Membership::InBatch => {
                refused.push(place, text, reasons::IN_ANOTHER_BATCH);
            }
            Some(member) => members.push(*member),
        }
    }
    if refused.total == 0 { Ok(members) } else { Err(refused.into_error()) }
}

#[derive(Default)]
struct Refused {
    details: Vec<InputFault>,
    total: usize,
}

impl Refused {
    fn push(&mut self, place: usize, id: &str, (code, message): (&'static str, &str)) {
        self.total += 1;
        if self.details.len() < FAULTS_KEPT_MAX {
            let fault = Fault { param: format!("requests_ids[{place}]"), code, message: message.to_owned() };
            self.details.push(InputFault { id: Some(Quoted(id).to_string()), ..fault.into() });
        }
    }

    fn into_error(self) -> AppError {
        AppError::Invalid(InvalidInput { details: self.details, total: Some(self.total) })
    }
}
