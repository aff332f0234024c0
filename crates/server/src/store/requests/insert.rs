//! Taking a request in.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use overnight_domain::money::Credits;
use overnight_domain::scheduler::AccountKey;

use crate::store::database::{Column, Columns, Dialect, JointColumns, Kind};
use crate::store::ledger::holds::{Admission, Hold};
use crate::store::outbox::lane_of;
use crate::store::requests::records::{NewRequest, REQUESTS};
use crate::store::writer::{Job, Operation, WriteClass};
use crate::store::writes::{WriteOrder, WriteTransaction};
use crate::store::{Store, StoreError};

/// Stores a request, if its account can pay for it. Once this returns, what was taken survives the end of the process and
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

impl Operation for NewRequest {
    type Answer = Admission;
    const CLASS: WriteClass = WriteClass::Intake;
    const ORDER: WriteOrder = WriteOrder::NewRequest;

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.body.len() + self.client.heap_bytes()
    }

    async fn apply(
        jobs: &[Job<Self>],
        write: &mut WriteTransaction<'_>,
    ) -> Result<Vec<Admission>, StoreError> {
        // Before accounts are locked: every node locks batches first.
        write.effects.apply_batch_counters(&mut write.tx).await?;
        let requests = || jobs.iter().map(|job| &job.operation);
        let arrivals: Vec<_> = requests().map(|request| (request.account, request.hold)).collect();
        let admissions = admit(&arrivals, write).await?;
        let taken = requests().zip(&admissions).filter(|(_, admission)| **admission == Admission::Taken);
        store(&taken.map(|(request, _)| request).collect::<Vec<_>>(), write).await?;
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

/// Decides about each of these requests, in the order of arrival, and adds the holds of those taken to their accounts.
async fn admit(
    arrivals: &[(AccountKey, Option<Hold>)],
    write: &mut WriteTransaction<'_>,
) -> Result<Vec<Admission>, StoreError> {
    let priced = arrivals.iter().filter(|(_, hold)| hold.is_some());
    let accounts: BTreeSet<i64> = priced.map(|(account, _)| account.0).collect();
    if accounts.is_empty() {
        return Ok(vec![Admission::Taken; arrivals.len()]);
    }
    let mut available = write.effects.ledger.available(accounts, &mut write.tx).await?;
    let mut admissions = Vec::with_capacity(arrivals.len());
    for (AccountKey(account), hold) in arrivals {
        let Some(Hold { amount: required, .. }) = *hold else {
            admissions.push(Admission::Taken);
            continue;
        };
        let left = available.get_mut(account).ok_or(StoreError::Damaged("an account with a key"))?;
        admissions.push(if *left >= required.nanos() {
            *left -= required.nanos();
            write.effects.ledger.hold(*account, required.nanos());
            Admission::Taken
        } else {
            Admission::Refused { required, available: Credits::from_nanos(*left) }
        });
    }
    Ok(admissions)
}
