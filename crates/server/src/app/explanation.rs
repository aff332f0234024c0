//! Why a request stands as it stands, for operators: what it waits for, its place in the order, its attempts, its engines and the
//! accounts that it takes turns with.

use std::cmp::Reverse;

use overnight_domain::forecast::AccountQueue;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::{AccountKey, QueuePartition};

use super::Services;
use super::engines::{self, EngineReport};
use super::errors::AppError;
use super::waiting::{self, WaitingReason};
use crate::store::identity::accounts::{self, Account};
use crate::store::queue::outlook;
use crate::store::queue::place;
pub use crate::store::queue::place::QueuePlace;
use crate::store::requests;

/// Accounts that are told of, those with the most requests first.
const ACCOUNTS_MAX: usize = 10;

/// Why a request stands as it stands. Times are in milliseconds.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub account: Account,
    pub model: String,
    /// The request, with the attempts that failed.
    pub record: RequestRecord,
    /// Why it waits, for the first time or again, if it does; with the engines' own words.
    pub waiting: Option<WaitingReason>,
    /// Whether it is with an engine, or about to be.
    pub is_leased: bool,
    /// Its place in the queue, while it is there.
    pub place: Option<QueuePlace>,
    /// When it may be tried again, where that is still to come.
    pub retry_at: Option<i64>,
    /// What each process said last of each engine replica that serves the model.
    pub engines: Vec<EngineReport>,
    /// The accounts with requests in the queue for the model, those with the most first.
    pub queues: Vec<(Account, AccountQueue)>,
    /// How many more accounts there are.
    pub more_queues: usize,
}

/// Explains a request of any account. Reads all that waits for its model.
pub async fn explain(services: &Services, id: RequestId) -> Result<Explanation, AppError> {
    let store = &services.store;
    let owner = requests::find_owner(store, id).await?.ok_or(AppError::NotFound(super::requests::NOUN))?;
    let record = super::requests::get_record(services, owner, id).await?;
    let found = requests::find_summary(store, owner, id).await?;
    let (_, model) = found.ok_or(AppError::NotFound(super::requests::NOUN))?;
    let mut explanation = Explanation {
        account: accounts::get(store, owner).await?,
        waiting: waiting::reason_for_operators(services, &model, &record.summary.state).await?,
        record,
        is_leased: false,
        place: None,
        retry_at: None,
        engines: Vec::new(),
        queues: Vec::new(),
        more_queues: 0,
        model,
    };
    if !explanation.record.summary.state.is_terminal() {
        explanation.look_around(services, owner, id).await?;
    }
    Ok(explanation)
}

impl Explanation {
    /// Adds what is around a request that has not ended.
    async fn look_around(
        &mut self,
        services: &Services,
        owner: AccountKey,
        id: RequestId,
    ) -> Result<(), AppError> {
        let store = &services.store;
        let reports = engines::list(services).await?;
        self.engines = reports.into_iter().filter(|it| it.engine.models.contains(&self.model)).collect();
        let Some(live) = requests::find_live(store, owner, id).await? else { return Ok(()) };
        let partition = QueuePartition { model: live.model, account: owner };
        self.place = place::find(store, partition, &live.position).await?;
        if self.waiting.is_none() && !live.is_leased {
            self.waiting = Some(waiting::in_queue(services, &self.model, live.retry_at).await?);
        }
        self.is_leased = live.is_leased;
        self.retry_at = Some(live.retry_at).filter(|at| *at > services.clock.now());
        let mut queues = outlook::accounts(store, live.model).await?;
        queues.sort_by_key(|it| Reverse(it.waiting + it.leased));
        self.more_queues = queues.len().saturating_sub(ACCOUNTS_MAX);
        for queue in queues.into_iter().take(ACCOUNTS_MAX) {
            self.queues.push((accounts::get(store, queue.account).await?, queue));
        }
        Ok(())
    }
}
