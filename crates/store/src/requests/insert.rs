//! Accepting a request.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::records::{ClientFields, RequestSummary};
use overnight_domain::requests::RequestState;
use overnight_domain::scheduler::AccountKey;

use crate::database::{Column, Columns, Dialect, JointColumns, Kind};
use crate::effects::Accounts;
use crate::idempotency_keys::{Claim, Claims, Guard, Guarded};
use crate::ledger::holds::{Admission, Hold};
use crate::ledger::totals::{ROW_BYTES, webhook_bytes};
use crate::objects::table::{bytes_beside, use_for_requests};
use crate::outbox::lane_of;
use crate::requests::records::{NewRequest, REQUESTS};
use crate::writer::{Job, Operation, WriteClass};
use crate::writes::{WriteOrder, WriteTransaction};
use crate::{Store, StoreError};

/// Stores a request, if its account has the credits and quota for it. Once this returns, a taken request survives the end of the process
/// and a loss of power.
pub fn insert(store: &Store, request: NewRequest) -> BoxFuture<'_, Result<Admission, StoreError>> {
    async { insert_once(store, request, None).await?.into_done() }.boxed()
}

/// As [`insert`], once for all calls with the key of the guard.
pub fn insert_once(
    store: &Store,
    request: NewRequest,
    guard: Option<Guard<RequestSummary>>,
) -> BoxFuture<'_, Result<Guarded<Admission>, StoreError>> {
    async move {
        let body = match store.is_large(&request.body) && !Box::pin(may_have(store, &request)).await? {
            // It is refused, or a repeat: its body is not put into the object store.
            true => store.encrypted(request.account, request.body).await?,
            false => store.stored(request.account, request.body, request.created_at).await?,
        };
        let request = NewRequest { body, ..request };
        let body = request.body.clone();
        let outcome = store.writer().write(InsertRequest { request, guard }).await;
        // If the outcome is unknown, the object stays until it is known.
        if outcome.as_ref().is_ok_and(|done| !matches!(done, Guarded::Done(Admission::Taken))) {
            store.discard([&body]).await;
        }
        outcome
    }
    .boxed()
}

/// Whether an account may have a request now; stores none.
async fn may_have(store: &Store, request: &NewRequest) -> Result<bool, StoreError> {
    let &NewRequest { account, hold, created_at, .. } = request;
    let tried = TryRequest { account, bytes: request.stored_bytes(), hold, created_at };
    Ok(store.writer().write(tried).await? == Admission::Taken)
}

/// Whether an account may have a request of so many bytes.
struct TryRequest {
    account: AccountKey,
    bytes: i64,
    hold: Option<Hold>,
    created_at: i64,
}

impl Operation for TryRequest {
    type Answer = Admission;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::TryRequest;

    fn account(&self) -> Option<AccountKey> {
        Some(self.account)
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Admission>, StoreError> {
        // Before accounts are locked: every node locks batches first.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let operations = || jobs.iter().map(|job| &job.operation);
        let now = operations().map(|it| (it.account.0, it.created_at)).collect();
        let mut accounts =
            Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
        operations().map(|it| accounts.admit_request(it.account, it.bytes, it.hold, it.created_at)).collect()
    }
}

struct InsertRequest {
    request: NewRequest,
    guard: Option<Guard<RequestSummary>>,
}

pub(crate) static REQUEST_STATES: Columns<NewRequest> = Columns::new(
    "request_states",
    &[
        Column::number("seq"),
        Column::new("account", Kind::Integer, |request| request.account.into()),
        Column::new("model", Kind::Integer, |request| request.model.into()),
        Column::fixed("state", "0 /* gathering */"),
        Column::new("batch", Kind::Integer, |request| request.batch.into()),
        Column::new("ready_at", Kind::Integer, |request| request.ready_at.into()),
        Column::new("deadline", Kind::Integer, |request| request.expires_at.into()),
        Column::new("cost", Kind::Integer, |request| request.cost.into()),
        Column::new("sort_key", Kind::Bytes, |request| request.sort_key.as_bytes().into()),
        Column::new("hold", Kind::Integer, |request| {
            request.hold.map_or(0, |hold| hold.amount.nanos()).into()
        }),
        Column::new("price", Kind::Integer, |request| request.hold.map(|hold| hold.price.0).into()),
        Column::new("lane", Kind::Integer, |request| {
            lane_of(request.account, request.client.webhook.as_deref()).into()
        }),
        Column::new("api_key", Kind::Integer, |request| request.api_key.into()),
    ],
);

pub(crate) static REQUESTS_WITH_STATES: JointColumns<NewRequest> =
    JointColumns::new("requests_seq_seq", [&REQUESTS, &REQUEST_STATES]);

/// Until it ends.
pub fn stored_bytes(body: &[u8], client: &ClientFields) -> i64 {
    let metadata = client.metadata.as_ref().map_or(0, Bytes::len);
    ROW_BYTES + (body.len() + metadata) as i64 + webhook_bytes(client.webhook.as_deref())
}

impl NewRequest {
    pub(crate) fn stored_bytes(&self) -> i64 {
        stored_bytes(&self.body, &self.client) + bytes_beside(&self.body)
    }

    pub fn summary(&self) -> RequestSummary {
        let state = RequestState::Gathering { ready_at: self.ready_at };
        RequestSummary { id: self.id, state, created_at: self.created_at, expires_at: self.expires_at }
    }
}

impl Operation for InsertRequest {
    type Answer = Guarded<Admission>;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewRequest;

    fn account(&self) -> Option<AccountKey> {
        Some(self.request.account)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.request.body.len() + self.request.client.heap_bytes()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Guarded<Admission>>, StoreError> {
        // Before accounts are locked: every node locks batches first.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let operations: Vec<&Self> = jobs.iter().map(|job| &job.operation).collect();
        let claims = operations.iter().map(|operation| operation.claim()).collect();
        let claims = Claims::take(claims, &mut write.tx).await?;
        let first = claims.first().into_iter().filter_map(|place| operations.get(place));
        let requests: Vec<&NewRequest> = first.map(|operation| &operation.request).collect();
        let admissions = admit(&requests, write).await?;
        let taken = requests.iter().zip(&admissions).filter(|(_, admission)| **admission == Admission::Taken);
        store(&taken.map(|(request, _)| *request).collect::<Vec<_>>(), write).await?;
        let response = |place: usize, admission: &Admission| {
            let InsertRequest { request, guard } = operations.get(place)?;
            let guard = guard.as_ref().filter(|_| *admission == Admission::Taken)?;
            Some(guard.response(&request.summary()))
        };
        let ledger = &mut write.effects.ledger;
        let count = |account, bytes| ledger.store_bytes(account, bytes);
        claims.end(admissions, response, count, &mut write.tx).await
    }
}

impl InsertRequest {
    fn claim(&self) -> Option<Claim> {
        let Self { request: NewRequest { account, created_at, .. }, guard } = self;
        guard.as_ref().map(|guard| Claim { account: *account, key: guard.key, created_at: *created_at })
    }
}

pub(crate) async fn store(
    requests: &[&NewRequest],
    write: &mut WriteTransaction<'_>,
) -> Result<(), StoreError> {
    let numbers = match write.tx.dialect() {
        Dialect::Sqlite => {
            let first = write.sequences.request;
            let numbered = || (first..).zip(requests.iter().copied());
            write.tx.execute(REQUESTS.insert(numbered())).await?;
            write.tx.execute(REQUEST_STATES.insert(numbered())).await?;
            write.sequences.request += requests.len() as i64;
            (first..write.sequences.request).collect::<Vec<_>>()
        }
        Dialect::Postgres => {
            let rows = write.tx.fetch(REQUESTS_WITH_STATES.insert(requests.iter().copied())).await?;
            rows.iter().map(|row| row.get("seq")).collect::<Result<_, _>>()?
        }
    };
    for (seq, request) in numbers.into_iter().zip(requests) {
        let NewRequest { account, created_at, model, alias, .. } = **request;
        write.effects.blocks.created(account, seq, created_at, alias.unwrap_or(model));
    }
    use_for_requests(requests.iter().map(|request| (request.id, &*request.body)), &mut write.tx).await
}

/// Decides on requests in order of arrival, and counts taken ones for their accounts.
async fn admit(
    requests: &[&NewRequest],
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<Admission>, StoreError> {
    let now = requests.iter().map(|request| (request.account.0, request.created_at)).collect();
    let mut accounts = Accounts::lock(&now, &write.quotas, &mut write.effects.ledger, &mut write.tx).await?;
    let mut admissions = Vec::with_capacity(requests.len());
    for request in requests {
        let bytes = request.stored_bytes();
        let admission = accounts.admit_request(request.account, bytes, request.hold, request.created_at)?;
        if admission == Admission::Taken {
            let hold = request.hold.map_or(0, |hold| hold.amount.nanos());
            write.effects.ledger.accept(request.account.0, hold, bytes);
        }
        admissions.push(admission);
    }
    Ok(admissions)
}
