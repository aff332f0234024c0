//! Keeps a child alive: starts it, waits until it answers, and restarts it when it has ended.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use overnight_base::clock::SharedClock;
use overnight_base::ids::Ids;
use overnight_base::secrets::Secret;
use overnight_base::tasks;
use overnight_outgoing::transport::Transport;
use tokio::sync::watch;

use super::child::Life;
use super::{EmbeddedState, Endpoint, Program, model};
use crate::target::Target;
use crate::{ModelPurpose, check_model_file};

/// The pause after the first end; it doubles with each.
const PAUSE_MS_MIN: i64 = 500;

/// The longest pause; a child that was ready for as long starts again with the shortest.
const PAUSE_MS_MAX: i64 = 30_000;

/// Limit for the child's announcement of its address.
const ANNOUNCEMENT_WAIT_MS: i64 = 30_000;

/// The interval between readiness checks of a child that loads its model.
const HEALTH_PAUSE_MS: i64 = 50;

/// Limit for one such check.
const HEALTH_WAIT_MS: i64 = 5_000;

/// Limit for the last lines of a dead child.
const LAST_WORDS_WAIT_MS: i64 = 500;

pub(super) struct Supervisor {
    program: Program,
    clock: SharedClock,
    ids: Arc<Ids>,
    state: watch::Sender<EmbeddedState>,
    transport: Transport,
}

struct End {
    reason: String,
    ready_at: Option<i64>,
    /// The next pause is at least this long.
    pause_ms_min: i64,
}

impl End {
    fn unready(reason: String) -> Self {
        Self { reason, ready_at: None, pause_ms_min: 0 }
    }
}

impl Supervisor {
    pub(super) fn new(
        program: Program,
        clock: SharedClock,
        ids: Arc<Ids>,
        state: watch::Sender<EmbeddedState>,
    ) -> Self {
        let transport = Transport::local(Arc::clone(&clock), HEALTH_WAIT_MS);
        Self { program, clock, ids, state, transport }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let mut pause_ms = PAUSE_MS_MIN;
        loop {
            let End { reason, ready_at, pause_ms_min } = self.live().await;
            let now = self.clock.now();
            if ready_at.is_some_and(|ready_at| now.saturating_sub(ready_at) >= PAUSE_MS_MAX) {
                pause_ms = PAUSE_MS_MIN;
            }
            let engine = &self.program.engine;
            tracing::error!(target: "engine", engine, pause_ms, "embedded engine down: {reason}");
            self.set_down(now, reason);
            self.pause(pause_ms.max(pause_ms_min)).await;
            pause_ms = (pause_ms * 2).min(PAUSE_MS_MAX);
        }
    }

    /// Keeps the time since which the child has not been ready.
    fn set_down(&self, now: i64, reason: String) {
        self.state.send_modify(|state| {
            let since = match state {
                EmbeddedState::Down { since, .. } => *since,
                EmbeddedState::Starting | EmbeddedState::Downloading { .. } | EmbeddedState::Ready(_) => now,
            };
            *state = EmbeddedState::Down { since, reason };
        });
    }

    async fn live(&self) -> End {
        let mut ready_at = None;
        let model = match model::locate(&self.program.model, &self.program.engine, &self.state).await {
            Ok(path) => path,
            Err(missing) => return End { pause_ms_min: missing.pause_ms, ..End::unready(missing.reason) },
        };
        let begun = match check_model(model.clone()).await {
            Ok(purpose) => Life::begin(&self.program, &model).map(|life| (life, purpose)),
            Err(reason) => Err(reason),
        };
        let (mut life, purpose) = match begun {
            Ok(begun) => begun,
            Err(reason) => return End::unready(reason),
        };
        let mut reason = match self.bring_up(&mut life).await {
            Ok(mut target) => {
                ready_at = Some(self.clock.now());
                target.only = purpose.map(ModelPurpose::endpoint);
                let (engine, serves) = (&self.program.engine, purpose.map(ModelPurpose::as_str));
                tracing::info!(target: "engine", engine, serves, "embedded engine ready");
                self.state.send_replace(EmbeddedState::Ready(Endpoint(Arc::new(target))));
                life.ended().await
            }
            Err(reason) => reason,
        };
        // A child that announced nothing valid may still run, and would hold its pipes open.
        _ = life.process.start_kill();
        tokio::select! {
            () = async { while life.readers.join_next().await.is_some() {} } => {}
            () = self.pause(LAST_WORDS_WAIT_MS) => {}
        }
        if let Some(words) = life.last_words.take() {
            reason = format!("{reason}; its last words: {words}");
        }
        End { reason, ready_at, pause_ms_min: 0 }
    }

    async fn bring_up(&self, life: &mut Life) -> Result<Target, String> {
        let key = hexadecimal(&self.ids.random());
        // A dying child closes its input first; its exit status says more.
        _ = life.tell_key(&key).await;
        let address = tokio::select! {
            heard = life.hear_address() => match heard {
                Ok(address) => address,
                Err(reason) => return Err(self.prefer_exit(life, reason).await),
            },
            () = self.pause(ANNOUNCEMENT_WAIT_MS) => {
                return Err(format!("it did not say where it listens within {} s", ANNOUNCEMENT_WAIT_MS / 1_000));
            }
        };
        if !address.ip().is_loopback() {
            return Err(format!("it listens on {address}, which is not this machine's own"));
        }
        tokio::select! {
            () = self.become_ready(address) => {}
            reason = life.ended() => return Err(reason),
        }
        Target::new(&format!("http://{address}/v1"), Some(Secret::new(key)))
            .map_err(|error| error.to_string())
    }

    /// Its exit status, if it is about to end; otherwise `reason`.
    async fn prefer_exit(&self, life: &mut Life, reason: String) -> String {
        tokio::select! {
            ended = life.ended() => ended,
            () = self.pause(LAST_WORDS_WAIT_MS) => reason,
        }
    }

    /// Polls until the child has loaded its model, however long that takes.
    async fn become_ready(&self, address: SocketAddr) {
        while !self.is_ready(address).await {
            self.pause(HEALTH_PAUSE_MS).await;
        }
    }

    async fn is_ready(&self, address: SocketAddr) -> bool {
        let request = Request::get(format!("http://{address}/health")).body(Full::<Bytes>::default());
        let Ok(request) = request else { return false };
        tokio::select! {
            answer = self.transport.send(request) => answer.is_ok_and(|answer| answer.status().is_success()),
            () = self.pause(HEALTH_WAIT_MS) => false,
        }
    }

    async fn pause(&self, wait_ms: i64) {
        self.clock.sleep_until(self.clock.now().saturating_add(wait_ms)).await;
    }
}

/// Refuses an incomplete model file: a child would read all of it first, and its message says less.
async fn check_model(path: PathBuf) -> Result<Option<ModelPurpose>, String> {
    let shown = path.display().to_string();
    let checked = tasks::spawn_heavy(move || check_model_file(&path)).await;
    // If the check itself panicked, the child decides.
    let judged = checked.map_or(Ok(None), |judged| judged.map(Some));
    judged.map_err(|error| format!("the model {shown} {error}"))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}
