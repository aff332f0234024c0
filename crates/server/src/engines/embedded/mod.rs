//! The embedded engine: a child process that the service starts, watches and starts again.
//!
//! Its key and its port are new in each life. Where it is stands in a [`watch`] channel, so that whoever wants to send
//! waits for the next life instead of failing.

mod child;
mod model;
mod supervisor;

use std::net::SocketAddr;
use std::sync::Arc;

use overnight_hub::HubName;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(super) use self::model::ModelFile;
use overnight_base::clock::{SharedClock, Sleep};
use overnight_base::ids::Ids;
use overnight_base::supervision::Supervisor as Loops;

use self::supervisor::Supervisor;
use super::target::Target;
use crate::config::EmbeddedConfig;

#[derive(Clone)]
pub enum EmbeddedState {
    /// It was started for the first time and is not ready yet.
    Starting,
    Downloading {
        name: HubName,
    },
    /// It has loaded its model and answers.
    Ready(Endpoint),
    /// It ended or could not be started; it is started again until it is ready.
    Down {
        /// Since when it has not been ready, in milliseconds.
        since: i64,
        /// What its last life ended of, in words.
        reason: String,
    },
}

/// Where a living child is spoken to.
#[derive(Clone)]
pub struct Endpoint(pub(super) Arc<Target>);

impl Endpoint {
    /// Where it listens.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.0.models.authority()?.as_str().parse().ok()
    }
}

pub(super) struct Program {
    pub(super) engine: String,
    pub(super) config: EmbeddedConfig,
    pub(super) model: ModelFile,
}

/// A supervised child. Dropped, the child is killed.
pub(super) struct Embedded {
    state: watch::Receiver<EmbeddedState>,
    supervisor: JoinHandle<()>,
}

impl Embedded {
    /// Starts the child, now and whenever it has ended.
    pub(super) fn start(program: Program, clock: SharedClock, ids: Arc<Ids>, loops: &Arc<Loops>) -> Self {
        let (sender, state) = watch::channel(EmbeddedState::Starting);
        let supervisor = Supervisor::new(program, clock, ids, sender);
        Self { state, supervisor: loops.spawn("embedded_engine", supervisor.run()) }
    }

    /// Kills the child for good, and waits until that is done.
    pub(super) async fn stop(&self) {
        self.supervisor.abort();
        // The task holds the only sender, next to the child.
        _ = self.state().wait_for(|_| false).await;
    }

    pub(super) fn state(&self) -> watch::Receiver<EmbeddedState> {
        self.state.clone()
    }

    /// Where it is as soon as it is ready, unless that is `too_late`; then why it is not.
    pub(super) async fn target(&self, too_late: Sleep) -> Result<Arc<Target>, String> {
        let mut state = self.state();
        tokio::select! {
            biased;
            found = ready(&mut state) => found,
            () = too_late => Err(match &*self.state.borrow() {
                EmbeddedState::Down { reason, .. } => format!("embedded engine down: {reason}"),
                // How much of it is there is in the log: each other reason would be said anew.
                EmbeddedState::Downloading { name } => {
                    format!("the embedded engine's model {name} is being downloaded")
                }
                EmbeddedState::Starting | EmbeddedState::Ready(_) => "the embedded engine is starting".to_owned(),
            }),
        }
    }
}

async fn ready(state: &mut watch::Receiver<EmbeddedState>) -> Result<Arc<Target>, String> {
    let found = state.wait_for(|state| matches!(state, EmbeddedState::Ready(_))).await;
    match found.as_deref() {
        Ok(EmbeddedState::Ready(Endpoint(target))) => Ok(Arc::clone(target)),
        _ => Err("the embedded engine is no longer supervised".to_owned()),
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // The task owns the child, which is killed when it is dropped.
        self.supervisor.abort();
    }
}
