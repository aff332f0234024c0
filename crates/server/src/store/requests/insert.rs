//! Taking a request in.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::money::Credits;
use overnight_domain::quotas::{Quota, Quotas, Usage};
use overnight_domain::records::ClientFields;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Column, Columns, Dialect, JointColumns, Kind};
use crate::store::ledger::holds::{Admission, Hold};
use crate::store::ledger::spend;
use crate::store::ledger::totals::{ROW_BYTES, Totals};
use crate::store::outbox::lane_of;
use crate::store::requests::records::{NewRequest, REQUESTS};
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::{WriteOrder, WriteTransaction};
use crate::store::{Store, StoreError};

/// Stores a request, if its account can pay for it and has room for it. Once this returns, what was taken survives the end of the process and
/// power loss.
pub fn insert(store: &Store, request: NewRequest) -> BoxFuture<'_, Result<Admission, StoreError>> {
    store.writer().write(request).boxed()
}

pub(in crate::store) static REQUEST_STATES: Columns<NewRequest> = Columns::new(
    "request_states",
    &[
        Column::number("seq"),
        Column::new("account", Kind::Integer, |request| request.account.into()),
        Column::new("model", Kind::Integer, |request| request.model.into()),
        Column::fixed("state", "0 /* gathering */"),
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
    ],
);

pub(in crate::store) static REQUESTS_WITH_STATES: JointColumns<NewRequest> =
    JointColumns::new("requests_seq_seq", [&REQUESTS, &REQUEST_STATES]);

/// The bytes that a request stores until it ends.
pub fn stored_bytes(body: &[u8], client: &ClientFields) -> i64 {
    ROW_BYTES + (body.len() + client.heap_bytes()) as i64
}

impl NewRequest {
    fn stored_bytes(&self) -> i64 {
        stored_bytes(&self.body, &self.client)
    }
}

impl Operation for NewRequest {
    type Answer = Admission;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewRequest;

    fn account(&self) -> Option<AccountKey> {
        Some(self.account)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.len() + self.client.heap_bytes()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Admission>, StoreError> {
        // Before accounts are locked: every node locks batches first.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let requests: Vec<&NewRequest> = jobs.iter().map(|job| &job.operation).collect();
        let admissions = admit(&requests, write).await?;
        let taken = requests.iter().zip(&admissions).filter(|(_, admission)| **admission == Admission::Taken);
        store(&taken.map(|(request, _)| *request).collect::<Vec<_>>(), write).await?;
        Ok(admissions)
    }
}

async fn store(requests: &[&NewRequest], write: &mut WriteTransaction<'_>) -> Result<(), StoreError> {
    match write.tx.dialect() {
        Dialect::Sqlite => {
            let first = write.sequences.request;
            let numbered = || (first..).zip(requests.iter().copied());
            write.tx.execute(REQUESTS.insert(numbered())).await?;
            write.tx.execute(REQUEST_STATES.insert(numbered())).await?;
            write.sequences.request += requests.len() as i64;
        }
        Dialect::Postgres => {
            write.tx.execute(REQUESTS_WITH_STATES.insert(requests.iter().copied())).await?;
        }
    }
    Ok(())
}

/// Decides about each of these requests, in the order of arrival, and adds what is taken to what its account uses.
async fn admit(
    requests: &[&NewRequest],
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<Admission>, StoreError> {
    let mut accounts = Accounts::lock(requests, write).await?;
    let mut admissions = Vec::with_capacity(requests.len());
    for request in requests {
        let admission = accounts.admit(request)?;
        if admission == Admission::Taken {
            let hold = request.hold.map_or(0, |hold| hold.amount.nanos());
            write.effects.ledger.accept(request.account.0, hold, request.stored_bytes());
        }
        admissions.push(admission);
    }
    Ok(admissions)
}

/// What the accounts of some requests have and use, and the quotas that apply to each.
struct Accounts(BTreeMap<i64, Account>);

struct Account {
    available: i64,
    usage: Usage,
    quotas: Quotas,
}

impl Accounts {
    async fn lock(requests: &[&NewRequest], write: &mut WriteTransaction<'_>) -> Result<Self, StoreError> {
        let now: BTreeMap<i64, i64> =
            requests.iter().map(|request| (request.account.0, request.created_at)).collect();
        let locked = write.effects.ledger.totals(now.keys().copied().collect(), &mut write.tx).await?;
        let mut accounts = BTreeMap::new();
        for (account, now) in now {
            let (totals, own) = locked.get(&account).ok_or(StoreError::Damaged("an account with a key"))?;
            let quotas = own.or(write.quotas);
            let tokens_today = match quotas.get(Quota::TokensPerDay) {
                Some(_) => spend::tokens_of_day_in(account, spend::day_of(now), &mut write.tx).await?,
                None => 0,
            };
            let Totals { live_requests, stored_bytes, .. } = *totals;
            let usage = Usage { stored_bytes, live_requests, tokens_today };
            accounts.insert(account, Account { available: totals.available(), usage, quotas });
        }
        Ok(Self(accounts))
    }

    fn admit(&mut self, request: &NewRequest) -> Result<Admission, StoreError> {
        let account = self.0.get_mut(&request.account.0).ok_or(StoreError::Damaged("a locked account"))?;
        let bytes = request.stored_bytes();
        if let Err(exceeded) = account.usage.check(1, bytes, &account.quotas, request.created_at) {
            return Ok(Admission::OverQuota(exceeded));
        }
        if let Some(Hold { amount: required, .. }) = request.hold {
            if account.available < required.nanos() {
                let available = Credits::from_nanos(account.available);
                return Ok(Admission::InsufficientCredits { required, available });
            }
            account.available -= required.nanos();
        }
        account.usage.live_requests += 1;
        account.usage.stored_bytes += bytes;
        Ok(Admission::Taken)
    }
}
