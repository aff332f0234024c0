//! The embedded engine: a child process that the service starts, watches and restarts.
//!
//! Its key and its port are new in each life. Its address is in a [`watch`] channel, so that senders wait for the next life instead of
//! failing.

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
use overnight_config::EmbeddedConfig;

use self::supervisor::Supervisor;
use super::target::Target;

#[derive(Clone)]
pub enum EmbeddedState {
    /// Started for the first time, and not ready yet.
    Starting,
    Downloading {
        name: HubName,
    },
    /// Has loaded its model, and answers.
    Ready(Endpoint),
    /// Ended or could not be started; it is restarted until it is ready.
    Down {
        /// Since when it has not been ready, in milliseconds.
        since: i64,
        /// Why its last life ended.
        reason: String,
    },
}

/// The address and key of a running child.
#[derive(Clone)]
pub struct Endpoint(pub(super) Arc<Target>);

impl Endpoint {
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.0.models.authority()?.as_str().parse().ok()
    }
}

pub(super) struct Program {
    pub(super) engine: String,
    pub(super) config: EmbeddedConfig,
    pub(super) model: ModelFile,
}

/// A supervised child. If dropped, the child is killed.
pub(super) struct Embedded {
    state: watch::Receiver<EmbeddedState>,
    supervisor: JoinHandle<()>,
}

impl Embedded {
    /// Starts the child, and restarts it whenever it has ended.
    pub(super) fn start(program: Program, clock: SharedClock, ids: Arc<Ids>, loops: &Arc<Loops>) -> Self {
        let (sender, state) = watch::channel(EmbeddedState::Starting);
        let supervisor = Supervisor::new(program, clock, ids, sender);
        Self { state, supervisor: loops.spawn("embedded_engine", supervisor.run()) }
    }

    /// Kills the child for good, and waits for its end.
    pub(super) async fn stop(&self) {
        self.supervisor.abort();
        // The task holds the only sender, next to the child.
        _ = self.state().wait_for(|_| false).await;
    }

    pub(super) fn state(&self) -> watch::Receiver<EmbeddedState> {
        self.state.clone()
    }

    /// The target as soon as it is ready. After `too_late`, fails with why it is not.
    pub(super) async fn target(&self, too_late: Sleep) -> Result<Arc<Target>, String> {
        let mut state = self.state();
        tokio::select! {
            biased;
            found = ready(&mut state) => found,
            () = too_late => Err(match &*self.state.borrow() {
                EmbeddedState::Down { reason, .. } => format!("embedded engine down: {reason}"),
                // The progress is only in the log: otherwise each reason would be logged anew.
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
