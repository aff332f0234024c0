//! Reports this process's knowledge of its replicas for people, through the store and concurrently with scheduling, which never waits for
//! it.

use overnight_app::Services;
use overnight_base::tasks;
use overnight_domain::scheduler::{ModelKey, ProcessStatus, Replica, Scheduler};
use overnight_store::nodes::engine_reports::{
    self, EnginePause, EngineProcess, EngineProcessStatus, EngineRates, EngineState, ModelOut,
    PrefixCacheState,
};
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::replicas::Replicas;

/// The shortest interval between reports.
const EVERY_MS: i64 = 2_000;

/// An unchanged report is repeated after this time: other nodes may have declared this process dead and deleted its report.
const AGAIN_MS: i64 = 60_000;

/// The last report, and whether it was stored.
pub(super) struct Reports {
    services: Services,
    told: Vec<EngineState>,
    told_at: Option<i64>,
    under_way: Option<oneshot::Receiver<()>>,
    has_failed: bool,
}

impl Reports {
    pub(super) const fn new(services: Services) -> Self {
        Self { services, told: Vec::new(), told_at: None, under_way: None, has_failed: false }
    }

    /// Reports `engines` if that is due, and no report is in progress.
    pub(super) fn tell(&mut self, engines: Vec<EngineState>) {
        let now = self.services.clock.now();
        if self.is_under_way() || !self.is_due(&engines, now) {
            return;
        }
        self.told_at = Some(now);
        self.told.clone_from(&engines);
        let (arrived, outcome) = oneshot::channel();
        self.under_way = Some(outcome);
        let store = self.services.store.clone();
        tasks::spawn(async move {
            match engine_reports::report(&store, engines, now).await {
                Ok(()) => drop(arrived.send(())),
                Err(error) => tracing::debug!(%error, "engine status report failed; will retry"),
            }
        });
    }

    fn is_under_way(&mut self) -> bool {
        match self.under_way.as_mut().map(oneshot::Receiver::try_recv) {
            None => return false,
            Some(Err(TryRecvError::Empty)) => return true,
            Some(outcome) => self.has_failed = outcome.is_err(),
        }
        self.under_way = None;
        false
    }

    fn is_due(&self, engines: &[EngineState], now: i64) -> bool {
        let Some(told_at) = self.told_at else { return true };
        let age_ms = now - told_at;
        // The clock may have been set back.
        let is_recent = |most_ms| (0..most_ms).contains(&age_ms);
        !is_recent(EVERY_MS) && (self.has_failed || !is_recent(AGAIN_MS) || self.told != engines)
    }
}

/// The state of a replica at `now`, whether this process drives it or not.
pub(super) fn state_of(
    replica: &Replica,
    is_driven: bool,
    replicas: &Replicas,
    scheduler: &Scheduler,
    now: i64,
) -> EngineState {
    let closed_until = scheduler.closed_until(replica.key).filter(|_| is_driven);
    let error = scheduler.process_error(replica.key).filter(|_| closed_until.is_none());
    let error = error.map(|(error, until)| EnginePause { until: Some(until), reason: error.to_owned() });
    let reason = scheduler.pause_reason(replica.key).filter(|_| is_driven && closed_until.is_none());
    let pause = error.or_else(|| {
        let until = scheduler.paused_until(replica.key);
        reason.map(|reason| EnginePause { until, reason: reason.to_owned() })
    });
    let is_out = pause.is_some() || closed_until.is_some();
    // Facts about a model usually hold for what waits under its aliases.
    let is_told = |model: &ModelKey| is_driven && !is_out && replicas.is_model(*model);
    let models_out = scheduler.models_out(replica.key).into_iter().filter(|(model, ..)| is_told(model));
    let models_out = models_out.map(|(model, until, reason)| ModelOut {
        model: replicas.model_name(model).to_owned(),
        until,
        reason: reason.map(str::to_owned),
        is_over_budget: false,
        is_busy: false,
    });
    let busy = |model: &ModelKey| {
        let (until, message) = scheduler.busy(replica.key, *model, now).filter(|_| is_told(model))?;
        let (model, reason) = (replicas.model_name(*model).to_owned(), Some(message.to_owned()));
        Some(ModelOut { model, until: Some(until), reason, is_over_budget: false, is_busy: true })
    };
    let busy = replica.models.iter().filter_map(busy);
    let (spent, ends_at) = scheduler.over_budget(replica.key).unwrap_or_default();
    let spent = spent.into_iter().filter(is_told).map(|model| ModelOut {
        model: replicas.model_name(model).to_owned(),
        until: Some(ends_at),
        reason: None,
        is_over_budget: true,
        is_busy: false,
    });
    // Called in each turn, driven or not: the rates need regular samples.
    let rates = replicas.rates(replica.key, now);
    EngineState {
        name: replicas.name(replica.key).to_owned(),
        models: replicas.model_names(replica.key),
        is_driven,
        in_flight: i64::try_from(scheduler.in_flight(replica.key)).unwrap_or(i64::MAX),
        max_concurrency: scheduler.concurrency_limit(replica.key).unwrap_or(replica.first_concurrency).into(),
        pause,
        closed_until,
        models_out: models_out.chain(spent).chain(busy).collect(),
        process: process_of(replica, replicas, scheduler),
        rates: if is_driven { rates } else { EngineRates::default() },
        prefix_cache: if is_driven {
            replicas.prefix_cache(replica.key)
        } else {
            PrefixCacheState::default()
        },
    }
}

fn process_of(replica: &Replica, replicas: &Replicas, scheduler: &Scheduler) -> Option<EngineProcess> {
    let (status, _) = scheduler.process_status(replica.key)?;
    let status = match status {
        ProcessStatus::Stopped => EngineProcessStatus::Stopped,
        ProcessStatus::Starting => EngineProcessStatus::Starting,
        ProcessStatus::Running => EngineProcessStatus::Running,
        ProcessStatus::Draining | ProcessStatus::Stopping => EngineProcessStatus::Stopping,
    };
    let is_model = replicas.holds_one_model(replica.key);
    Some(EngineProcess { status, ready_at: scheduler.ready_at(replica.key), is_model })
}
