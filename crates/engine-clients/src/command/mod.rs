//! An engine that the service starts by a command when its models have work, and stops when they have none.
//!
//! The service starts a guard and the guard starts the command, so that a killed service leaves nothing running ([`guard`]). The scheduler
//! decides when to start and to stop.

mod announcement;
mod guard;
mod launch;
mod life;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::watch;

pub use self::guard::run_guard;
pub use self::launch::{check_port_free, find_program};
use overnight_base::clock::{SharedClock, TimeLimit};
use overnight_base::supervision::Supervisor;
use overnight_base::tasks;
use overnight_config::CommandConfig;

use self::life::{Launch, Life};
use super::log_lines::LastWords;

/// The guard's additional time after the engine's `stop_timeout`.
const GUARD_GRACE_MS: i64 = 15_000;

/// The interval between readiness checks of a starting engine.
const READY_PAUSE_MS: i64 = 500;

/// How long an engine may answer without listing its model, which it may add last.
const LACKING_MS: i64 = 30_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessStatus {
    Stopped {
        /// Why it ended or could not be started; `None` if it was stopped or never started.
        reason: Option<String>,
    },
    /// Started, but not ready yet.
    Starting,
    Running,
    Stopping,
}

/// Why a process did not become ready. It does not run then, unless it ran before or is still being ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotReady {
    /// Stopped before it was ready.
    #[error("it was stopped")]
    Stopped,
    #[error("{0}")]
    Failed(String),
}

/// A process that can be started and stopped repeatedly. If dropped, it is ended.
pub(super) struct CommandProcess {
    launch: Launch,
    clock: SharedClock,
    supervisor: Arc<Supervisor>,
    status: watch::Sender<ProcessStatus>,
    last_words: LastWords,
}

#[derive(Debug)]
pub(super) enum NotYet {
    /// No answer, or only failures.
    Loading(String),
    /// Answers, but does not list its model.
    Lacking(String),
}

pub(super) type AskReady<'a> = &'a (dyn Fn() -> BoxFuture<'a, Result<(), NotYet>> + Sync);

impl CommandProcess {
    pub(super) fn new(
        engine: String,
        config: CommandConfig,
        guard: PathBuf,
        clock: SharedClock,
        supervisor: Arc<Supervisor>,
    ) -> Self {
        let (status, _) = watch::channel(ProcessStatus::Stopped { reason: None });
        let launch = Launch { engine, config, guard };
        Self { launch, clock, supervisor, status, last_words: LastWords::default() }
    }

    pub(super) fn status(&self) -> watch::Receiver<ProcessStatus> {
        self.status.subscribe()
    }

    /// Starts it and waits until it is ready. If it is not ready within `start_timeout`, nothing of it is left when this returns. If
    /// dropped, it is ended.
    pub(super) async fn start(&self, ask: AskReady<'_>) -> Result<(), NotReady> {
        self.begin().map_err(NotReady::Failed)?;
        let _ended_if_dropped = EndIfStarting(self);
        let why = tokio::select! {
            biased;
            reason = self.stopped() => return Err(reason.map_or(NotReady::Stopped, NotReady::Failed)),
            ready = self.become_ready(ask) => match ready {
                Ok(()) if self.change(&ProcessStatus::Starting, ProcessStatus::Running) => {
                    tracing::info!(target: "engine", engine = self.launch.engine, "ready");
                    return Ok(());
                }
                Ok(()) => None,
                Err(why) => Some(why),
            },
        };
        let last_words = self.last_words.take();
        self.ask_to_stop();
        let ended = self.stopped().await;
        // The reason of its end already has the last lines.
        let is_own = ended.is_none();
        let why = match (ended.or(why), last_words) {
            (None, _) => return Err(NotReady::Stopped),
            (Some(why), Some(words)) if is_own => format!("{why}; its last words: {words}"),
            (Some(why), _) => why,
        };
        Err(NotReady::Failed(why))
    }

    /// Waits until it no longer runs. Returns why, if it ended by itself.
    pub(super) async fn ended(&self) -> Option<String> {
        let mut status = self.status();
        let is_over = |status: &ProcessStatus| *status != ProcessStatus::Running;
        match status.wait_for(is_over).await.as_deref() {
            Ok(ProcessStatus::Stopped { reason }) => reason.clone(),
            _ => None,
        }
    }

    /// Ends it with everything that it started, and waits for that.
    pub(super) async fn stop(&self) -> Result<(), String> {
        if matches!(*self.status.borrow(), ProcessStatus::Stopped { .. }) {
            return Ok(());
        }
        self.ask_to_stop();
        // The guard's limit, and the same again for a group that has lost its guard.
        let wait_ms = 2 * (self.launch.config.stop_timeout.0 + GUARD_GRACE_MS) + GUARD_GRACE_MS;
        tokio::select! {
            biased;
            _ = self.stopped() => {}
            () = self.pause(wait_ms) => {
                return Err(format!("it has not ended within {} s", wait_ms / 1_000));
            }
        }
        check_port_free(&self.launch.config)
    }

    fn begin(&self) -> Result<(), String> {
        let is_mine = self.status.send_if_modified(|status| {
            let is_stopped = matches!(status, ProcessStatus::Stopped { .. });
            if is_stopped {
                *status = ProcessStatus::Starting;
            }
            is_stopped
        });
        if !is_mine {
            return Err("it was started already, or is still being ended".to_owned());
        }
        _ = self.last_words.take();
        let life = check_port_free(&self.launch.config)
            .and_then(|()| Life::begin(&self.launch, &self.clock, &self.last_words));
        match life {
            Ok(life) => {
                let program = self.launch.config.command.first();
                tracing::info!(target: "engine", engine = self.launch.engine, program, "started");
                // The task ends with the process that it watches.
                let life = life.run(self.status.clone());
                tasks::spawn(self.supervisor.watch_until("command_engine", life, || true));
                Ok(())
            }
            Err(reason) => {
                self.status.send_replace(ProcessStatus::Stopped { reason: Some(reason.clone()) });
                Err(reason)
            }
        }
    }

    /// Asks until it is ready, out of time, or known to serve other models.
    async fn become_ready(&self, ask: AskReady<'_>) -> Result<(), String> {
        let start_timeout_ms = self.launch.config.start_timeout.0;
        let engine = &self.launch.engine;
        let mut why_not = String::new();
        let asking = async {
            let mut lacking = None;
            loop {
                let why = match ask().await {
                    Ok(()) => return Ok(()),
                    Err(NotYet::Loading(why)) => {
                        lacking = None;
                        why
                    }
                    Err(NotYet::Lacking(why)) => {
                        let limit = lacking.get_or_insert_with(|| TimeLimit::begin(&self.clock, LACKING_MS));
                        if limit.is_over() {
                            return Err(format!("it serves other models: {why}"));
                        }
                        why
                    }
                };
                if why != why_not {
                    tracing::info!(target: "engine", engine, "not ready yet: {why}");
                    why_not = why;
                }
                self.pause(READY_PAUSE_MS).await;
            }
        };
        tokio::select! {
            asked = asking => return asked,
            () = self.pause(start_timeout_ms) => {}
        }
        Err(format!("it was not ready within {} s: {why_not}", start_timeout_ms / 1_000))
    }

    /// Waits until it is stopped, however long. Returns why, if it ended by itself.
    pub(super) async fn stopped(&self) -> Option<String> {
        let mut status = self.status();
        let is_stopped = |status: &ProcessStatus| matches!(status, ProcessStatus::Stopped { .. });
        match status.wait_for(is_stopped).await.as_deref() {
            Ok(ProcessStatus::Stopped { reason }) => reason.clone(),
            _ => None,
        }
    }

    fn ask_to_stop(&self) {
        if !self.change(&ProcessStatus::Starting, ProcessStatus::Stopping) {
            self.change(&ProcessStatus::Running, ProcessStatus::Stopping);
        }
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

    async fn pause(&self, wait_ms: i64) {
        self.clock.sleep_until(self.clock.now().saturating_add(wait_ms)).await;
    }
}

impl Drop for CommandProcess {
    fn drop(&mut self) {
        self.ask_to_stop();
    }
}

/// Ends a process whose starter stopped waiting.
struct EndIfStarting<'a>(&'a CommandProcess);

impl Drop for EndIfStarting<'_> {
    fn drop(&mut self) {
        self.0.change(&ProcessStatus::Starting, ProcessStatus::Stopping);
    }
}
