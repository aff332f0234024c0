//! Explains the state of a request to operators: the reason why it waits, its position, attempts and engines, and the accounts that share
//! the model.

use std::cmp::Reverse;

use overnight_domain::forecast::AccountQueue;
use overnight_domain::ids::RequestId;
use overnight_domain::records::RequestRecord;
use overnight_domain::scheduler::{AccountKey, QueuePartition};
use overnight_store::identity::accounts::{self, Account};
use overnight_store::queue::{counts, place};

use super::waiting::{self, WaitingReason};
use crate::Services;
use crate::engines::{self, EngineReport};
use crate::errors::AppError;
pub use overnight_store::queue::place::QueuePlace;
use overnight_store::requests;

/// The maximum number of accounts shown, those with the most requests first.
const ACCOUNTS_MAX: usize = 10;

/// The state of a request, for operators. Times are in milliseconds.
#[derive(Debug, Clone)]
pub struct Explanation {
    pub account: Account,
    pub model: String,
    /// The request with its failed attempts.
    pub record: RequestRecord,
    /// The reason why it waits, for the first time or again, with the engines' own words.
    pub waiting: Option<WaitingReason>,
    /// Whether it is at an engine, or about to be.
    pub is_leased: bool,
    /// Its position in the queue, while it is there.
    pub place: Option<QueuePlace>,
    /// When it may be tried again, if that is in the future.
    pub retry_at: Option<i64>,
    /// Every process's last report of each engine replica that serves the model.
    pub engines: Vec<EngineReport>,
    /// The accounts with requests in the queue for the model, those with the most first.
    pub queues: Vec<(Account, AccountQueue)>,
    /// The number of further accounts.
    pub more_queues: usize,
}

/// Explains a request of any account. Reads all waiting requests of its model.
pub async fn explain(services: &Services, id: RequestId) -> Result<Explanation, AppError> {
    let store = &services.store;
    let owner = requests::find_owner(store, id).await?.ok_or(AppError::NotFound(super::NOUN))?;
    let record = super::get_record(services, owner, id).await?;
    let found = requests::find_summary(store, owner, id).await?;
    let (_, model) = found.ok_or(AppError::NotFound(super::NOUN))?;
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
    /// Adds the surroundings of a live request.
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
        let counted = counts::of_model(store, live.model).await?;
        let mut queues: Vec<AccountQueue> = counted.into_iter().map(|it| it.queue).collect();
        queues.sort_by_key(|it| Reverse(it.waiting + it.leased));
        self.more_queues = queues.len().saturating_sub(ACCOUNTS_MAX);
        for queue in queues.into_iter().take(ACCOUNTS_MAX) {
            self.queues.push((accounts::get(store, queue.account).await?, queue));
        }
        Ok(())
    }
}
