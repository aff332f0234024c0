//! A simulated inference engine: OpenAI's chat completions, completions and embeddings over real HTTP, with vLLM's metrics, a cost model with a
//! prefix cache, answers that a test can check, and every fault that a client of engines must survive.
//!
//! Each answer begins with [`echo_of`] the last user message, so that a test knows whether a request got its own answer.
//! Faults strike at rates drawn from the seed, the prompt and the attempt, so that a run can be repeated whatever its
//! interleaving; or one request directs them itself by a marker in its last user message. A marker is `[[sim:NAME]]`,
//! `[[sim:NAME=ARGUMENT]]`, or either with ` xN` before the brackets close: it then counts for N attempts of that
//! prompt, and the next marker (or the usual answer) follows. The names stand at [`Fault`]; `ok` is the usual answer,
//! `tokens=N` sets the completion's length, and `say` makes the prompt itself the answer.
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// A running engine on a loopback port of its own. Dropped, it stops.
#[derive(Debug)]
pub struct SimEngine {
    state: Arc<State>,
    address: SocketAddr,
    server: JoinHandle<io::Result<()>>,
    // Keeps the port through the engine's deaths.
    _reserved: TcpSocket,
}

impl SimEngine {
    /// Starts an engine on the current tokio runtime; it takes requests when this returns.
    ///
    /// # Errors
    /// No loopback port could be listened on.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: SimConfig) -> io::Result<Self> {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), config)
    }

    /// The same at an address that is known before.
    ///
    /// # Errors
    /// The address is not free, or not this machine's.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start_at(address: SocketAddr, config: SimConfig) -> io::Result<Self> {
        let reserved = server::reserve(address)?;
        let address = reserved.local_addr()?;
        let listener = server::listen(address)?;
        let (commands, received) = mpsc::unbounded_channel();
        let state = State::new(config, commands);
        let server = tokio::spawn(server::run(Arc::clone(&state), listener, received));
        Ok(Self { state, address, server, _reserved: reserved })
    }

    /// The base URL as an engine's configuration wants it, with `/v1` and no slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it; when this returns, the port is closed and every connection is dropped.
    pub async fn stop(mut self) {
        let _ = self.state.commands.send(Command::Stop);
        let _ = (&mut self.server).await;
    }

    /// Kills it as `kill -9` does: the port refuses, all connections drop, cache and metrics are lost. It is back on the
    /// same port after that many milliseconds.
    pub fn die(&self, ms: u64) {
        let _ = self.state.commands.send(Command::Die { ms });
    }

    /// Changes settings for the requests that come after.
    pub fn tune(&self, change: impl FnOnce(&mut Tunables)) {
        self.state.tune(change);
    }

    pub fn counters(&self) -> Counters {
        self.state.recorder.counters()
    }

    /// What it loaded, where it holds one model at a time.
    pub fn loads(&self) -> Loads {
        self.state.holder.loads()
    }

    /// The model's counters and levels; `None` for an instant engine.
    pub fn model_stats(&self) -> Option<ModelStats> {
        self.state.driver.as_ref().map(driver::Driver::stats)
    }

    /// When the model's first request came and when its last one ended; `None` before the first, and for an instant engine.
    pub fn worked(&self) -> Option<(Instant, Instant)> {
        self.state.driver.as_ref().and_then(driver::Driver::worked)
    }

    /// How many attempts the prompt had whose last user message is this; 0 where it was not recorded.
    pub fn attempts_of(&self, content: &str) -> u32 {
        self.state.recorder.attempts_of(content)
    }

    /// The attempts of every recorded prompt, by last user message.
    pub fn attempts(&self) -> HashMap<String, u32> {
        self.state.recorder.attempts()
    }

    /// The last user message of every attempt in order of arrival; empty unless [`Recording::Order`] was asked for.
    pub fn arrivals(&self) -> Vec<String> {
        self.state.recorder.order()
    }

    /// The `traceparent` of every completion that was asked for with one, in order of arrival.
    pub fn traceparents(&self) -> Vec<String> {
        self.state.recorder.traceparents()
    }
}

impl Drop for SimEngine {
    fn drop(&mut self) {
        let _ = self.state.commands.send(Command::Stop);
    }
}

/// Serves on a listener of the caller's until the future is dropped.
///
/// # Errors
/// The listener has no address.
pub async fn serve(config: SimConfig, listener: TcpListener) -> io::Result<()> {
    let (commands, received) = mpsc::unbounded_channel();
    server::run(State::new(config, commands), listener, received).await
}

/// The guard of a mutex. A panic of one test's thread must not hide in the poison of another's.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
