//! A simulated inference engine: OpenAI's chat completions, completions and embeddings over real HTTP, with vLLM's metrics, a cost model
//! with a prefix cache, answers that a test can check, and every fault that a client of engines must survive.
//!
//! Each answer begins with [`echo_of`] the last user message, so that a test knows whether a request got its own answer. Faults occur at
//! rates drawn from the seed, the prompt and the attempt, so that a run can be repeated in any interleaving; or a marker in the last user
//! message selects them for one request. A marker is `[[sim:NAME]]`, `[[sim:NAME=ARGUMENT]]`, or either with ` xN` before the brackets
//! close: it then counts for N attempts of that prompt, and the next marker (or the usual answer) follows. [`Fault`] lists the names; `ok`
//! is the usual answer, `tokens=N` sets the completion's length, and `say` makes the prompt itself the answer.
//!
//! A token is four bytes of the canonical prompt: the tools, then role and text of each message.

mod behaviours;
mod body;
mod cache;
mod chat;
mod completion;
mod config;
mod driver;
mod faults;
mod forms;
mod gate;
mod holder;
mod http;
mod markers;
mod metrics;
mod model;
mod prompt;
mod recorder;
mod report;
mod server;
mod socket;
mod state;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub use self::behaviours::{Behaviour, Outcome};
pub use self::cache::BLOCK_TOKENS;
pub use self::config::{CostModel, Overload, Recording, SimConfig, Speed, Tunables};
pub use self::faults::{Canned, Fault, FaultRates};
pub use self::holder::Loads;
pub use self::model::{EngineModel, Finished, Job, JobId, ModelStats, Step};
pub use self::prompt::echo_of;
pub use self::recorder::Counters;
use self::state::{Command, State};
use crate::stand::lock;

/// A running engine on its own loopback port. Dropping it stops the engine.
#[derive(Debug)]
pub struct SimEngine {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<io::Result<()>>,
    // Reserves the port while the engine is dead.
    _reserved: TcpSocket,
}

impl SimEngine {
    /// Starts an engine on the current tokio runtime; it accepts requests when this returns. Panics outside a tokio runtime.
    pub fn start(config: SimConfig) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), config)
    }

    /// Like [`Self::start`], at a given address.
    pub fn start_at(address: SocketAddr, config: SimConfig) -> io::Result<Self> {
        let reserved = server::reserve(address)?;
        let address = reserved.local_addr()?;
        let listener = server::listen(address)?;
        let (commands, received) = mpsc::unbounded_channel();
        let state = State::new(config, commands);
        let server = tokio::spawn(server::run(Arc::clone(&state), listener, received));
        Ok(Self { state, address, server, _reserved: reserved })
    }

    /// The base URL for an engine's configuration, with `/v1` and no slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the engine. When this returns, the port is closed and every connection is dropped.
    pub async fn stop(mut self) {
        let _ = self.state.commands.send(Command::Stop);
        let _ = (&mut self.server).await;
    }

    /// Kills the engine as `kill -9` does: the port refuses, all connections drop, cache and metrics are lost. After `ms` milliseconds it
    /// listens on the same port again.
    pub fn die(&self, ms: u64) {
        let _ = self.state.commands.send(Command::Die { ms });
    }

    /// Changes settings for later requests.
    pub fn tune(&self, change: impl FnOnce(&mut Tunables)) {
        self.state.tune(change);
    }

    pub fn counters(&self) -> Counters {
        self.state.recorder.counters()
    }

    /// The models that an engine loaded which holds one at a time.
    pub fn loads(&self) -> Loads {
        self.state.holder.loads()
    }

    /// `None` for an instant engine.
    pub fn model_stats(&self) -> Option<ModelStats> {
        self.state.driver.as_ref().map(driver::Driver::stats)
    }

    /// When the model's first request arrived and when its last one ended; `None` before the first, and for an instant engine.
    pub fn worked(&self) -> Option<(Instant, Instant)> {
        self.state.driver.as_ref().and_then(driver::Driver::worked)
    }

    /// The attempts of the prompt with this last user message; 0 if it was not recorded.
    pub fn attempts_of(&self, content: &str) -> u32 {
        self.state.recorder.attempts_of(content)
    }

    /// The attempts of every recorded prompt, by last user message.
    pub fn attempts(&self) -> HashMap<String, u32> {
        self.state.recorder.attempts()
    }

    /// The last user message of every attempt in order of arrival; empty without [`Recording::Order`].
    pub fn arrivals(&self) -> Vec<String> {
        self.state.recorder.order()
    }

    /// The `traceparent` of every completion request that had one, in order of arrival.
    pub fn traceparents(&self) -> Vec<String> {
        self.state.recorder.traceparents()
    }
}

impl Drop for SimEngine {
    fn drop(&mut self) {
        let _ = self.state.commands.send(Command::Stop);
    }
}

/// Serves on the given listener until the future is dropped. Fails if the listener has no address.
pub async fn serve(config: SimConfig, listener: TcpListener) -> io::Result<()> {
    let (commands, received) = mpsc::unbounded_channel();
    server::run(State::new(config, commands), listener, received).await
}
