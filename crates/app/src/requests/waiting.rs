//! Reasons for waiting.

use std::fmt;

use overnight_domain::ids::RequestId;
use overnight_domain::requests::{RequestState, RequestStatus};
use overnight_domain::scheduler::AccountKey;
use overnight_store::queue::counts;
use overnight_store::requests::{self, models};

use crate::Services;
use crate::engines::{self, EngineProcessStatus, EngineReport, Why};
use crate::errors::AppError;

/// Why a request waits. Its `Display` completes a sentence about the request, without the time that [`WaitingReason::until`] gives, and
/// reveals no more than a client may know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitingReason {
    /// It is grouped with similar prompts.
    Gathering {
        /// When it enters the queue, in milliseconds.
        until: i64,
    },
    /// The remaining disk space is reserved for the results of running requests.
    DiskReserved,
    /// No live process is configured with an engine that serves the model.
    NoEngine,
    /// Every engine that serves the model is paused, or has no process that drives it.
    EnginesPaused {
        /// The reason, for operators only: it may hold an engine's own words. `None` for others, and if there are no details.
        reason: Option<String>,
        /// The earliest next attempt, in milliseconds; `None` if it is unknown or now.
        until: Option<i64>,
    },
    /// Every engine that serves the model is outside its hours, or is paused longer.
    EnginesClosed {
        /// The earliest opening, in milliseconds; `None` if that is now.
        until: Option<i64>,
    },
    /// Every engine that serves the model has used its daily budget, or is unavailable longer.
    EnginesOverBudget {
        /// When the first is used again, in milliseconds; `None` if that is now.
        until: Option<i64>,
    },
    /// The model's engines do not run, or have another model loaded. One starts or loads it when there is enough work, or in its turn.
    EnginesStopped {
        /// When the first is ready, in milliseconds; `None` if that is unknown.
        until: Option<i64>,
        /// The model that occupies an engine or its device meanwhile.
        running: Option<String>,
    },
    /// It was sent, and is sent again later: an engine had no room for it, or an attempt failed.
    Retry {
        /// In milliseconds: the time that the engine named, or that of the backoff.
        until: i64,
        /// The words of an engine without room, for operators only.
        reason: Option<String>,
    },
    /// It waits for its turn.
    Queued {
        /// The number of other requests of all accounts that wait for the model; some run before it and some after.
        ahead: i64,
    },
}

impl WaitingReason {
    /// Whether the end of the wait is unknown because of a fault or a missing part.
    pub const fn is_fault(&self) -> bool {
        matches!(self, Self::DiskReserved | Self::NoEngine | Self::EnginesPaused { .. })
    }

    /// The engines' own words, for operators.
    pub fn words(&self) -> Option<&str> {
        match self {
            Self::EnginesPaused { reason, .. } | Self::Retry { reason, .. } => reason.as_deref(),
            _ => None,
        }
    }

    /// Removes the engines' own words.
    fn for_clients(self) -> Self {
        match self {
            Self::EnginesPaused { until, .. } => Self::EnginesPaused { reason: None, until },
            Self::Retry { until, .. } => Self::Retry { reason: None, until },
            reason => reason,
        }
    }

    /// The end of the wait, in milliseconds, if it is known.
    pub const fn until(&self) -> Option<i64> {
        match self {
            Self::Gathering { until } | Self::Retry { until, .. } => Some(*until),
            Self::EnginesPaused { until, .. }
            | Self::EnginesClosed { until }
            | Self::EnginesOverBudget { until }
            | Self::EnginesStopped { until, .. } => *until,
            Self::DiskReserved | Self::NoEngine | Self::Queued { .. } => None,
        }
    }
}

impl fmt::Display for WaitingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gathering { .. } => f.write_str("is grouped with similar prompts"),
            Self::DiskReserved => f.write_str("waits for space on the disk of the service"),
            Self::NoEngine => f.write_str("waits for an engine: none serves its model"),
            Self::EnginesPaused { .. } => f.write_str("waits for the engines of its model, which are paused"),
            Self::EnginesClosed { .. } => {
                f.write_str("waits for the engines of its model, which are outside their hours")
            }
            Self::EnginesOverBudget { .. } => {
                f.write_str("waits for the engines of its model, whose daily budgets are used up")
            }
            Self::EnginesStopped { running, .. } => {
                f.write_str("waits for an engine of its model to be started or to load it")?;
                running.as_ref().map_or(Ok(()), |model| write!(f, ": `{model}` has its device now"))
            }
            Self::Retry { .. } => {
                f.write_str("waits to be sent again: an engine had no room for it, or an attempt failed")
            }
            Self::Queued { ahead: 0 } => f.write_str("is the only one that waits for its model"),
            Self::Queued { ahead: 1 } => f.write_str("waits for its turn, with one other request"),
            Self::Queued { ahead } => write!(f, "waits for its turn, with {ahead} other requests"),
        }
    }
}

/// Why a request in this state waits, for its client; `None` if it does not. Knowledge of engines and queue is at least a second old, or
/// more if counting is slow.
pub async fn reason(
    services: &Services,
    model: &str,
    state: &RequestState,
) -> Result<Option<WaitingReason>, AppError> {
    Ok(reason_for_operators(services, model, state).await?.map(WaitingReason::for_clients))
}

/// Why a request waits after an attempt, for its client; `None` if it is at an engine, or merely waits for its turn.
pub async fn reason_to_wait_again(
    services: &Services,
    account: AccountKey,
    id: RequestId,
    model: &str,
) -> Result<Option<WaitingReason>, AppError> {
    let live = requests::find_live(&services.store, account, id).await?;
    let Some(live) = live.filter(|it| !it.is_leased) else { return Ok(None) };
    Ok(again(services, model, live.retry_at).await?.map(WaitingReason::for_clients))
}

/// Why a request waits after an attempt until `retry_at`, for operators; `None` if it waits for its turn.
async fn again(services: &Services, model: &str, retry_at: i64) -> Result<Option<WaitingReason>, AppError> {
    let hindrance = hindrance(services, model).await?;
    if hindrance.is_some() || retry_at <= services.clock.now() {
        return Ok(hindrance);
    }
    let models = services.models();
    let model = models.find(model).map_or(model, |model| &model.config.name);
    let reports = engines::recent(services).await?;
    let mut out = reports.iter().flat_map(|report| &report.engine.models_out);
    let reason = out.find(|it| it.is_busy && it.model == model).and_then(|it| it.reason.clone());
    Ok(Some(WaitingReason::Retry { until: retry_at, reason }))
}

/// The same for operators, with the reasons of pauses.
pub async fn reason_for_operators(
    services: &Services,
    model: &str,
    state: &RequestState,
) -> Result<Option<WaitingReason>, AppError> {
    if state.status() != RequestStatus::Registered {
        return Ok(None);
    }
    let now = services.clock.now();
    if let RequestState::Gathering { ready_at } = *state
        && ready_at > now
    {
        return Ok(Some(WaitingReason::Gathering { until: ready_at }));
    }
    in_queue(services, model, 0).await.map(Some)
}

/// Why a request in the queue that may be sent at `retry_at` waits, for operators.
pub(super) async fn in_queue(
    services: &Services,
    model: &str,
    retry_at: i64,
) -> Result<WaitingReason, AppError> {
    match again(services, model, retry_at).await? {
        Some(reason) => Ok(reason),
        None => Ok(WaitingReason::Queued { ahead: ahead(services, model).await? }),
    }
}

/// Why no request for the model is sent to an engine, for clients; `None` if requests merely wait for their turn.
pub async fn of_model(services: &Services, model: &str) -> Result<Option<WaitingReason>, AppError> {
    Ok(hindrance(services, model).await?.map(WaitingReason::for_clients))
}

/// Waiting requests of all accounts for the model, for operators.
pub async fn count_of_model(services: &Services, model: &str) -> Result<i64, AppError> {
    count(services, model).await
}

/// Why no request for the model is sent to an engine, for operators; `None` if requests merely wait for their turn.
async fn hindrance(services: &Services, model: &str) -> Result<Option<WaitingReason>, AppError> {
    if services.store.is_advance_held() {
        return Ok(Some(WaitingReason::DiskReserved));
    }
    let models = services.models();
    let model = models.find(model).map_or(model, |model| &model.config.name);
    let reports = engines::recent(services).await?;
    let config = services.config();
    let device_of = |replica: &str| Some(config.engine_of(replica)?.device()?.0);
    Ok(trouble(&reports, model, device_of, services.clock.now()))
}

/// Reasons why waiting requests are sent to no engine, by model, for operators. Omits models whose requests merely wait for their turn.
pub async fn hindrances(services: &Services) -> Result<Vec<(String, WaitingReason)>, AppError> {
    let mut found = Vec::new();
    for model in services.models().iter().map(|model| &model.config.name) {
        if let Some(reason) = hindrance(services, model).await?
            && count(services, model).await? > 0
        {
            found.push((model.clone(), reason));
        }
    }
    Ok(found)
}

/// The number of other requests that wait for a model.
async fn ahead(services: &Services, model: &str) -> Result<i64, AppError> {
    Ok((count(services, model).await? - 1).max(0))
}

/// Waiting requests of all accounts for a model, under any of its names. A count that took long is cached for longer.
pub async fn count(services: &Services, model: &str) -> Result<i64, AppError> {
    let keys: Vec<_> = match services.models().find(model) {
        Some(model) => model.keys().collect(),
        None => models::find(&services.store, model).await?.into_iter().collect(),
    };
    let mut sum = 0;
    for key in keys {
        let store = services.store.clone();
        let count = async move { Ok(counts::waiting(&store, key).await?) };
        sum += services.live_counts.waiting.get(key, &services.clock, Box::pin(count)).await?;
    }
    Ok(sum)
}

/// The fault of a model's engines; `None` if one of them is driven, open and not paused. `device_of` names the device that a replica
/// shares.
fn trouble<'c>(
    reports: &[EngineReport],
    model: &str,
    device_of: impl Fn(&str) -> Option<&'c str>,
    now: i64,
) -> Option<WaitingReason> {
    let serves = |report: &&EngineReport| report.engine.serves(model);
    let mut serving = reports.iter().filter(serves).peekable();
    if serving.peek().is_none() {
        return Some(WaitingReason::NoEngine);
    }
    let mut out = Vec::new();
    for engine in serving.map(|report| &report.engine).filter(|engine| engine.is_driven) {
        let it = engine.out_for(model)?;
        match (it.until, it.why) {
            // The end is unknown.
            (None, Why::Closed | Why::OverBudget | Why::Paused(_)) => return None,
            // An engine whose start cannot be estimated may start immediately.
            (until, why) => out.push((until.unwrap_or(now), why)),
        }
    }
    let first = out.into_iter().min();
    let until = first.map(|(until, _)| until).filter(|until| *until > now);
    Some(match first.map(|(_, why)| why) {
        Some(Why::Closed) => WaitingReason::EnginesClosed { until },
        Some(Why::OverBudget) => WaitingReason::EnginesOverBudget { until },
        Some(Why::Stopped) => {
            WaitingReason::EnginesStopped { until, running: running_instead(reports, model, device_of) }
        }
        Some(Why::Paused(reason)) => WaitingReason::EnginesPaused { reason: Some(reason.to_owned()), until },
        None => WaitingReason::EnginesPaused { reason: None, until },
    })
}

/// Another model that an engine runs on a device of one of `model`'s engines.
fn running_instead<'c>(
    reports: &[EngineReport],
    model: &str,
    device_of: impl Fn(&str) -> Option<&'c str>,
) -> Option<String> {
    let place = |report: &EngineReport| Some((report.node.clone(), device_of(&report.engine.name)?));
    let (own, others): (Vec<_>, Vec<_>) = reports.iter().partition(|it| it.engine.serves(model));
    let wanted: Vec<_> = own.into_iter().filter_map(place).collect();
    let has_begun = |it: &&EngineReport| {
        it.engine.process.is_some_and(|process| process.status != EngineProcessStatus::Stopped)
    };
    let holder =
        others.into_iter().filter(has_begun).find(|it| place(it).is_some_and(|it| wanted.contains(&it)))?;
    holder.engine.models.first().cloned()
}

#[cfg(test)]
mod tests;
