//! Create Batch.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use overnight_domain::faults::{FAULTS_KEPT_MAX, Fault, Faults, Quoted, codes};
use overnight_domain::ids::RequestId;
use overnight_domain::json::{Json, JsonText, RawObject};
use overnight_domain::limits::Limits;
use overnight_domain::records::BatchRecord;
use overnight_domain::scheduler::AccountKey;

use crate::app::errors::{AppError, InputFault, InvalidInput};
use crate::app::idempotency::{self, Answered, Repeatable};
use crate::app::parsing::parse;
use crate::app::{Services, input};
use crate::store::batches::{self, Member, NewBatch, NewBatchOutcome};
use crate::store::idempotency_keys::{Guard, Guarded};

const FIELDS: [&str; 3] = ["requests_ids", "webhook", "metadata"];

/// How often a batch is looked at anew when its requests change while it is made.
const TRIES_MAX: usize = 8;

/// Why a request cannot be grouped.
mod reasons {
    use overnight_domain::faults::codes;

    pub(super) const UNKNOWN: (&str, &str) = (codes::UNKNOWN, "is none of your requests");
    pub(super) const DUPLICATE: (&str, &str) = (codes::DUPLICATE, "stands in the list before");
    pub(super) const IN_ANOTHER_BATCH: (&str, &str) = (codes::IN_ANOTHER_BATCH, "belongs to a batch already");
}

/// Groups requests of the account, from the JSON text of Create Batch's body: all of them, or none.
///
/// # Errors
///
/// [`AppError::Invalid`] with the first 1,000 faults and the count of all; [`AppError::QuotaExceeded`] where the account stores
/// all that it may; [`AppError::IdempotencyKeyReused`] where the call has the key of another; [`AppError::Unavailable`] where nothing is taken in now.
pub async fn create(
    services: &Services,
    account: AccountKey,
    body: Bytes,
    call: Option<Repeatable<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    let (guard, repeated) = idempotency::begin(services, account, &body, call).await?;
    if let Some(response) = repeated {
        return Ok(Answered::Repeat(response));
    }
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
    make(services, account, &input, guard).await
}

/// Groups requests of the account: all of them, or none.
///
/// # Errors
///
/// As [`create`].
pub(in crate::app) async fn make(
    services: &Services,
    account: AccountKey,
    input: &Input,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    for _ in 0..TRIES_MAX {
        let members = match resolve(services, account, &input.requests_ids).await {
            Ok(members) => members,
            Err(refusal) => return repeat_or(refusal, services, account, guard).await,
        };
        let now = services.clock.now();
        let batch = NewBatch {
            id: services.ids.next(now),
            account,
            created_at: now,
            webhook: input.webhook.clone(),
            metadata: input.metadata.clone(),
            members,
        };
        match batches::insert_once(&services.store, batch, guard).await? {
            Guarded::Done(NewBatchOutcome::Created(record)) => return Ok(Answered::New(record)),
            Guarded::Done(NewBatchOutcome::Changed) => {}
            Guarded::Done(NewBatchOutcome::OverQuota(exceeded)) => return Err(exceeded.into()),
            Guarded::Recalled(recalled) => return idempotency::response(recalled).map(Answered::Repeat),
        }
    }
    Err(AppError::Unavailable("the requests keep changing".to_owned()))
}

/// What a call is answered whose requests cannot be grouped. Its repeat may have grouped them since its key was looked for.
async fn repeat_or(
    refusal: AppError,
    services: &Services,
    account: AccountKey,
    guard: Option<Guard<BatchRecord>>,
) -> Result<Answered<BatchRecord>, AppError> {
    let Some(Guard { key, .. }) = guard else { return Err(refusal) };
    idempotency::recall(services, account, &key).await?.map(Answered::Repeat).ok_or(refusal)
}

/// What a batch is made of.
pub(in crate::app) struct Input {
    /// Its requests, as their identifiers are written.
    pub(in crate::app) requests_ids: Vec<String>,
    /// Where to tell of its end.
    pub(in crate::app) webhook: Option<String>,
    /// A JSON object, or `None` for null.
    pub(in crate::app) metadata: Option<Vec<u8>>,
}

fn read(services: &Services, text: &JsonText) -> Result<Input, AppError> {
    let config = &services.config;
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

/// Finds each request, in the order they were sent, or says of each that cannot be grouped why not.
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
            Some(member) if member.is_taken => refused.push(place, text, reasons::IN_ANOTHER_BATCH),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use overnight_domain::ids::AccountId;
    use overnight_domain::webhooks::signature::SigningSecret;
    use tempfile::TempDir;

    use super::*;
    use crate::app::requests;
    use crate::clock::ManualClock;
    use crate::config::{Config, Sources};
    use crate::ids::Ids;
    use crate::store::idempotency_keys::IdempotencyKey;
    use crate::store::identity::accounts::{self, NewAccount};
    use crate::store::{Durability, Store, StoreOptions};

    const START: i64 = 1_750_000_000_000;

    async fn start(folder: &TempDir) -> (Services, AccountKey) {
        let settings = [
            ("OVERNIGHT_DATA_DIR", folder.path().display().to_string()),
            ("OVERNIGHT_MODELS", r#"[{ name = "tiny", default_max_tokens = 64 }]"#.to_owned()),
            (
                "OVERNIGHT_ENGINES",
                r#"[{ name = "gpu", kind = "openai", base_url = "http://127.0.0.1:1/v1" }]"#.to_owned(),
            ),
        ];
        let environment = settings.map(|(name, value)| (name.to_owned(), value)).into();
        let config = Config::load(&Sources { environment, ..Sources::default() }).expect("settings");
        let options = StoreOptions {
            durability: Durability::ProcessOnly,
            disk_reserve: Some(0),
            ..StoreOptions::new(folder.path())
        };
        let clock = ManualClock::at(START);
        let store = Store::open(&options, clock.clone()).await.expect("a store");
        let account = NewAccount {
            id: AccountId::from_bits(7),
            name: "account".to_owned(),
            created_at: START,
            is_activated: true,
            credits: "100".parse().expect("credits"),
            webhook_secret: SigningSecret::new([7; 32]),
        };
        let account = accounts::insert(&store, &account).await.expect("an account").key;
        let services = Services::new(store, clock, Arc::new(Ids::from_seed(7)), Arc::new(config)).await;
        (services.expect("services"), account)
    }

    #[tokio::test]
    async fn a_repeat_of_a_call_that_was_done_since_its_key_was_looked_for_gets_its_answer() {
        let folder = tempfile::tempdir().expect("a folder");
        let (services, account) = start(&folder).await;
        let body =
            r#"{"request_body":{"model":"tiny","messages":[{"role":"user","content":"a"}]}}"#.as_bytes();
        let request = requests::create(&services, account, body.into(), Ok, None).await;
        let request = request.expect("a request").into_new().expect("a request that is new");
        let input = Input { requests_ids: vec![request.id.to_string()], webhook: None, metadata: None };
        let guard = |digest| {
            let key = IdempotencyKey { hash: [7; 32], digest: [digest; 32] };
            Some(Guard { key, write: |batch: &BatchRecord, out| out.extend(batch.id.to_bytes()) })
        };
        let first = make(&services, account, &input, guard(1)).await.expect("a batch");
        let id = first.into_new().expect("a batch that is new").id;
        let repeat = make(&services, account, &input, guard(1)).await;
        assert_eq!(repeat.expect("a repeat"), Answered::Repeat(id.to_bytes().to_vec().into()));
        let other = make(&services, account, &input, guard(2)).await;
        assert!(matches!(other, Err(AppError::IdempotencyKeyReused)), "{other:?}");
        let without = make(&services, account, &input, None).await;
        assert!(matches!(without, Err(AppError::Invalid(_))), "{without:?}");
        services.store.close().await;
    }
}
