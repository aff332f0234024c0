//! Compares a store with the model.

use std::collections::BTreeMap;
use std::fmt::Debug;

use overnight_domain::requests::RequestState;
use overnight_store::batches::{self, EndedSoFar};
use overnight_store::identity::accounts;
use overnight_store::ledger::{activity, spend};
use overnight_store::queue::{counts, leases};
use overnight_store::{Store, requests};

use super::names::Names;
use super::operations::by_status;
use super::tables::{Batch, Model, Request, State};
use super::writes::{attempt_message, result_body};
use crate::broken::{Broken, Step};

/// Compares everything that the nodes of a service can read of a sequence.
pub(super) async fn compare(store: &Store, names: &Names, model: &Model) -> Step {
    for account in 0..names.accounts.len() {
        compare_account(store, names, model, account).await?;
    }
    for (request, expected) in &model.requests {
        compare_request(store, names, *request, expected).await?;
    }
    for (batch, expected) in &model.batches {
        compare_batch(store, names, *batch, expected, model).await?;
    }
    compare_leases(store, names, model).await
}

/// A scheduler has at most one lease of a request, so the newest leases are requested first, then the older ones.
async fn compare_leases(store: &Store, names: &Names, model: &Model) -> Step {
    let newest: BTreeMap<usize, usize> =
        model.leases.iter().enumerate().map(|(lease, (request, _))| (*request, lease)).collect();
    let (newer, older): (Vec<usize>, Vec<usize>) =
        (0..model.leases.len()).partition(|lease| newest.get(&model.leases[*lease].0) == Some(lease));
    for leases in [newer, older] {
        let named = |lease: &usize| names.lease(model.leases[*lease]);
        let asked: Vec<_> = leases.iter().map(named).collect();
        let lost = leases.iter().filter(|lease| !model.is_held(**lease, None)).map(named).collect();
        same("leases that are held no more", leases::list_lost(store, &asked).await?, lost)?;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "callers compare what they have just read or made")]
pub(super) fn same<T: PartialEq + Debug>(what: &str, shown: T, expected: T) -> Step {
    if shown == expected {
        return Ok(());
    }
    Err(Broken(format!("{what}: the store has {shown:?}, the model {expected:?}")))
}

async fn compare_account(store: &Store, names: &Names, model: &Model, account: usize) -> Step {
    let key = names.accounts[account];
    let shown = accounts::get(store, key).await?;
    let shown = [shown.balance.nanos(), shown.held.nanos(), shown.live_requests, shown.stored_bytes];
    let expected = [
        model.balance(account),
        model.held(account),
        model.live_requests(account),
        model.stored_bytes(account),
    ];
    same(&format!("balance, hold, live requests and bytes of account {account}"), shown, expected)?;
    let counts = counts::of_account(store, key).await?;
    let live = || model.of_account(account).filter(|request| request.is_live());
    let begun = live().filter(|request| request.in_progress_at.is_some()).count() as i64;
    same(
        &format!("what waits and runs of account {account}, and the earliest deadline"),
        (counts.waiting, counts.in_progress, counts.oldest_deadline),
        (live().count() as i64 - begun, begun, live().map(|request| request.new.deadline).min()),
    )?;
    let mut shown = BTreeMap::<String, [i64; 4]>::new();
    for record in spend::list(store, key, 0).await? {
        let by = [record.requests, record.prompt_tokens, record.completion_tokens, record.amount.nanos()];
        add(shown.entry(record.model).or_default(), by);
    }
    let mut expected = BTreeMap::<String, [i64; 4]>::new();
    for request in model.of_account(account) {
        let Some((read, written)) = request.tokens else { continue };
        let name = ["plain", "other"][request.new.model].to_owned();
        add(expected.entry(name).or_default(), [1, read, written, request.charge().unwrap_or(0)]);
    }
    same(&format!("what account {account} spent by model"), shown, expected)?;
    let mut shown = [0; 4];
    for record in activity::list(store, key, 0).await? {
        let whole = record.whole();
        add(&mut shown, [whole.completed, whole.failed, whole.cancelled, whole.amount]);
    }
    let ended = |state| model.of_account(account).filter(|it| it.state == state).count() as i64;
    let [completed, failed, cancelled] = [State::Completed, State::Failed, State::Cancelled].map(ended);
    let charged = model.of_account(account).filter_map(Request::charge).sum();
    same(&format!("ends of account {account} by kind"), shown, [completed, failed, cancelled, charged])
}

fn add(sums: &mut [i64; 4], by: [i64; 4]) {
    sums.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
}

async fn compare_request(store: &Store, names: &Names, request: usize, expected: &Request) -> Step {
    let (account, id) = (names.accounts[expected.new.account], names.request_id(request));
    let missing = || Broken(format!("request {request} is not there"));
    let record = requests::find_record(store, account, id).await?.ok_or_else(missing)?;
    same(&format!("the state of request {request}"), record.summary.state, expected.record_state())?;
    let batch = expected.batch.map(|batch| names.batch_id(batch));
    same(&format!("the batch of request {request}"), record.batch_id, batch)?;
    let result = expected.result.map(|answer| result_body(answer).into_bytes());
    same(&format!("the result of request {request}"), record.result.map(Vec::from), result)?;
    let attempts: Vec<_> = record.attempts.into_iter().map(|attempt| (attempt.at, attempt.message)).collect();
    let expected_attempts = expected.attempts.iter().map(|at| (*at, attempt_message(*at))).collect();
    same(&format!("the failed attempts of request {request}"), attempts, expected_attempts)?;
    let charge = requests::find_charge(store, account, id).await?.ok_or_else(missing)?;
    same(
        &format!("the usage and charge of request {request}"),
        (charge.prompt_tokens.zip(charge.completion_tokens), charge.amount.map(|amount| amount.nanos())),
        (expected.tokens, expected.charge()),
    )?;
    let handling = requests::find_handling(store, account, id).await?;
    same(&format!("the release of request {request}"), handling.released_at, expected.released_at)
}

impl Request {
    fn record_state(&self) -> RequestState {
        let (in_progress_at, ended_at) = (self.in_progress_at, self.ended_at.unwrap_or_default());
        match (self.state, in_progress_at) {
            (State::Gathering, _) => RequestState::Gathering { ready_at: self.new.ready_at },
            (State::Waiting | State::Leased(_), Some(in_progress_at)) => {
                RequestState::InProgress { in_progress_at }
            }
            (State::Waiting | State::Leased(_), None) => RequestState::Queued,
            (State::Completed, _) => {
                RequestState::Completed { in_progress_at: in_progress_at.unwrap_or_default(), ended_at }
            }
            (State::Failed, _) => RequestState::Failed { in_progress_at, ended_at },
            (State::Cancelled, _) => RequestState::Cancelled { in_progress_at, ended_at },
        }
    }
}

async fn compare_batch(store: &Store, names: &Names, batch: usize, expected: &Batch, model: &Model) -> Step {
    let account = names.accounts[expected.account];
    let missing = || Broken(format!("batch {batch} is not there"));
    let (row, record) = batches::find(store, account, names.batch_id(batch)).await?.ok_or_else(missing)?;
    same(&format!("the counters of batch {batch}"), by_status(record.counters), model.counters(batch))?;
    let state = record.state;
    same(
        &format!("when batch {batch} began, completed and was cancelled"),
        [state.in_progress_at(), state.completed_at(), state.cancelled_at()],
        [expected.in_progress_at, expected.completed_at, expected.cancelled_at],
    )?;
    let is_cancelling = batches::list_cancelling(store).await?.contains(&row);
    same(&format!("whether the cancel of batch {batch} goes on"), is_cancelling, expected.is_cancelling)?;
    let members = expected.requests.iter().map(|request| names.request_id(*request)).collect();
    same(&format!("the requests of batch {batch}"), batches::list_members(store, row).await?, members)?;
    let so_far = batches::ended_so_far(store, row).await?;
    same(
        &format!("the order of ends of batch {batch}"),
        read_ends(store, names, expected, row, so_far).await?,
        expected.ends.clone(),
    )
}

async fn read_ends(
    store: &Store,
    names: &Names,
    batch: &Batch,
    row: i64,
    so_far: EndedSoFar,
) -> Step<Vec<usize>> {
    let mut ends = Vec::new();
    while (ends.len() as i64) < so_far.ended {
        let page =
            batches::page_ended(store, names.accounts[batch.account], row, ends.len() as i64, so_far).await?;
        let by_id = |id| batch.requests.iter().copied().find(|request| names.request_id(*request) == id);
        ends.extend(page.rows.iter().map(|(_, record)| by_id(record.summary.id).unwrap_or(usize::MAX)));
        same("the next place of the order of ends", page.next, ends.len() as i64)?;
    }
    Ok(ends)
}
