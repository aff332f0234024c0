//! A model that an engine loads when a request names it, unloading another. The scheduler decides when to load it.

use overnight_base::clock::SharedClock;
use overnight_config::ModelTurns;
use overnight_domain::scheduler::ProbeOutcome;
use tokio::sync::watch;

use super::command::{NotReady, ProcessStatus};

/// The retry interval while an engine has no room for the model, unless it names a later time.
const BUSY_PAUSE_MS: i64 = 500;

/// Whether the engine holds the model, as far as the service caused it. It has no process of the service.
pub(super) struct LoadedModel {
    timeout_ms: i64,
    clock: SharedClock,
    status: watch::Sender<ProcessStatus>,
}

const UNLOADED: ProcessStatus = ProcessStatus::Stopped { reason: None };

impl LoadedModel {
    /// The model is not loaded.
    pub(super) fn new(turns: &ModelTurns, clock: SharedClock) -> Self {
        let (status, _) = watch::channel(UNLOADED);
        Self { timeout_ms: turns.start_timeout.0, clock, status }
    }

    pub(super) fn status(&self) -> watch::Receiver<ProcessStatus> {
        self.status.subscribe()
    }

    /// Makes the engine load the model, by asking for a completion within the given milliseconds. If dropped, its state is as before.
    pub(super) async fn load<F: Future<Output = ProbeOutcome>>(
        &self,
        ask: impl Fn(i64) -> F,
    ) -> Result<(), NotReady> {
        if !self.change(&UNLOADED, ProcessStatus::Starting) {
            return Err(NotReady::Failed("it is loaded already, or being loaded".to_owned()));
        }
        let _unloaded_if_not_ready = UnloadIfNotReady(self);
        let mut status = self.status();
        let is_given_up = |status: &ProcessStatus| *status != ProcessStatus::Starting;
        tokio::select! {
            biased;
            _ = status.wait_for(is_given_up) => return Err(NotReady::Stopped),
            loaded = self.ask_until_loaded(ask) => loaded.map_err(NotReady::Failed)?,
        }
        match self.change(&ProcessStatus::Starting, ProcessStatus::Running) {
            true => Ok(()),
            false => Err(NotReady::Stopped),
        }
    }

    /// An unreachable or failing engine is left to the scheduler's backoff; one without room may be loading.
    async fn ask_until_loaded<F: Future<Output = ProbeOutcome>>(
        &self,
        ask: impl Fn(i64) -> F,
    ) -> Result<(), String> {
        let late_at = self.clock.now().saturating_add(self.timeout_ms);
        let mut why = String::new();
        let asking = async {
            loop {
                let mut named_ms = 0;
                match ask(self.timeout_ms).await {
                    ProbeOutcome::Healthy => return Ok(()),
                    ProbeOutcome::Failed(why) => return Err(why),
                    // llama-server and LM Studio refuse a model that they cannot load with 400.
                    ProbeOutcome::Refused { code, message } => {
                        return Err(format!("status {code}: {message}"));
                    }
                    ProbeOutcome::Busy { message, retry_after_ms } => {
                        why = format!(": {message}");
                        named_ms = retry_after_ms.unwrap_or(0);
                    }
                    ProbeOutcome::TimedOut(_) => {}
                }
                self.clock.sleep_until(self.clock.now().saturating_add(BUSY_PAUSE_MS.max(named_ms))).await;
            }
        };
        tokio::select! {
            loaded = asking => return loaded,
            () = self.clock.sleep_until(late_at) => {}
        }
        Err(format!("no completion within {} s{why}", self.timeout_ms / 1_000))
    }

    /// Ends the model's turn. The engine is not told: it unloads the model when another one is requested. Waits until a load in progress
    /// was given up.
    pub(super) async fn unload(&self) {
        self.change(&ProcessStatus::Running, UNLOADED);
        self.change(&ProcessStatus::Starting, ProcessStatus::Stopping);
        self.unloaded().await;
    }

    pub(super) async fn unloaded(&self) {
        _ = self.status().wait_for(|status| *status == UNLOADED).await;
    }

    /// Replaces the status if it is `from`; returns whether it was.
    fn change(&self, from: &ProcessStatus, to: ProcessStatus) -> bool {
        self.status.send_if_modified(|status| {
            let is_from = status == from;
            if is_from {
                *status = to;
            }
            is_from
        })
    }
}

/// Ends a load that failed, or whose caller stopped waiting.
struct UnloadIfNotReady<'a>(&'a LoadedModel);

impl Drop for UnloadIfNotReady<'_> {
    fn drop(&mut self) {
        for status in [ProcessStatus::Starting, ProcessStatus::Stopping] {
            self.0.change(&status, UNLOADED);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::Arc;

    use overnight_base::clock::SystemClock;
    use overnight_config::Millis;

    use super::*;

    fn model(timeout_ms: i64) -> LoadedModel {
        let turns = ModelTurns { start_timeout: Millis(timeout_ms), time_slice: Millis(60_000) };
        LoadedModel::new(&turns, Arc::new(SystemClock))
    }

    fn status(model: &LoadedModel) -> ProcessStatus {
        model.status().borrow().clone()
    }

    #[tokio::test]
    async fn a_load_that_is_given_up_ends_and_the_next_one_may_begin() {
        let model = model(60_000);
        let (given_up, ()) = tokio::join!(model.load(|_| pending()), model.unload());
        assert_eq!((given_up, status(&model)), (Err(NotReady::Stopped), UNLOADED));
        {
            let mut dropped = Box::pin(model.load(|_| pending()));
            assert!(futures_util::poll!(&mut dropped).is_pending());
            assert_eq!(status(&model), ProcessStatus::Starting);
        }
        assert_eq!(status(&model), UNLOADED);
        assert_eq!(model.load(|_| ready(ProbeOutcome::Healthy)).await, Ok(()));
        assert_eq!(status(&model), ProcessStatus::Running);
        assert!(matches!(model.load(|_| pending()).await, Err(NotReady::Failed(_))));
        assert_eq!(status(&model), ProcessStatus::Running);
        model.unload().await;
        assert_eq!(status(&model), UNLOADED);
    }

    #[tokio::test]
    async fn a_refusal_ends_a_load() {
        let refused =
            || ready(ProbeOutcome::Refused { code: 400, message: "Failed to load model".to_owned() });
        let outcome = model(60_000).load(|_| refused()).await;
        assert_eq!(outcome, Err(NotReady::Failed("status 400: Failed to load model".to_owned())));
    }

    #[tokio::test]
    async fn a_failure_ends_a_load_and_a_busy_engine_is_asked_until_the_timeout() {
        let failed = || ready(ProbeOutcome::Failed("status 500: no memory".to_owned()));
        let outcome = model(60_000).load(|_| failed()).await;
        assert_eq!(outcome, Err(NotReady::Failed("status 500: no memory".to_owned())));
        let busy = || ready(ProbeOutcome::Busy { retry_after_ms: None, message: "loading".to_owned() });
        let model = model(20);
        let outcome = model.load(|_| busy()).await;
        assert_eq!(outcome, Err(NotReady::Failed("no completion within 0 s: loading".to_owned())));
        assert_eq!(status(&model), UNLOADED);
    }
}
