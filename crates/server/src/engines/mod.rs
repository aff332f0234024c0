//! The engines that answer: whoever stands behind one, it is an OpenAI-compatible base URL and one code path.

mod boxed_model;
mod choices;
mod client;
mod command;
mod embedded;
mod environment;
mod load;
mod log_lines;
mod model_file;
mod models;
mod probes;
mod processes;
mod refusal;
mod served;
mod target;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use thiserror::Error;
use tokio::sync::watch;

use crate::clock::SharedClock;
use crate::config::{Config, EmbeddedConfig, EngineConfig, EngineKind, ModelSource, OpenAiConfig};
use crate::ids::Ids;
use crate::secrets::Secret;
use crate::transport::Transport;

pub use client::EngineClient;
pub use command::{NotReady, ProcessStatus, check_port_free, find_program, run_guard};
pub use embedded::EmbeddedState;
pub use environment::engine_environment;
pub use model_file::{ModelFileUnusable, check_model_file};
pub use models::ListedModel;

use client::Source;
use command::CommandProcess;
use embedded::{Embedded, ModelFile, Program};
use target::Target;

/// The clients of every configured engine, in the order of the settings. Dropped, they end what they started.
pub struct Engines(Vec<Arc<EngineClient>>);

/// Why an engine cannot be used at all, in words for the operator.
#[derive(Debug, Error)]
pub enum EngineUnusable {
    /// The variable that should hold its key does not.
    #[error("engine `{engine}`: the environment variable {variable}, which should hold its key, {reason}")]
    Key {
        /// The engine's name.
        engine: String,
        /// The variable that `api_key_env` names.
        variable: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// No secure connection can be made from this machine.
    #[error("engine `{engine}`: no secure connection can be made: {source}")]
    Tls {
        /// The engine's name.
        engine: String,
        /// What failed.
        source: std::io::Error,
    },
    /// The base URL is none that HTTP can carry.
    #[error("engine `{engine}`: `base_url` is no address for HTTP: {source}")]
    Address {
        /// The engine's name.
        engine: String,
        /// What is wrong with it.
        source: hyper::http::Error,
    },
    /// The model in the box could not be laid where the child finds it.
    #[error("the model in the box cannot be written to {}: {source}", path.display())]
    BoxedModel {
        /// Where.
        path: PathBuf,
        /// What failed.
        source: std::io::Error,
    },
}

impl Engines {
    /// Makes a client of each engine and starts the embedded ones; none of them needs to answer yet. Reads keys from the
    /// process's environment and may write the model in the box into the data folder.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start(config: &Config, clock: &SharedClock, ids: &Arc<Ids>) -> Result<Self, EngineUnusable> {
        Self::start_with_guard(&own_program(), config, clock, ids)
    }

    /// The same in a process that is not the program overnight, which stands at `guard` and is called to guard the commands of engines.
    ///
    /// # Errors
    /// An engine that no waiting will bring up.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn start_with_guard(
        guard: &Path,
        config: &Config,
        clock: &SharedClock,
        ids: &Arc<Ids>,
    ) -> Result<Self, EngineUnusable> {
        let start = |engine: &EngineConfig| start(engine, guard, &config.data_dir, clock, ids).map(Arc::new);
        config.engines.iter().map(start).collect::<Result<_, _>>().map(Self)
    }

    /// Ends the processes of all engines that the service started by commands, at the same time, and waits until nothing of them is
    /// left, or no more can be done: at most twice the longest `stop_timeout` and 45 s. What is left is logged.
    pub async fn stop(&self) {
        let stopping = self.iter().map(|engine| async move {
            if let Err(reason) = engine.stop_process().await {
                let engine = &engine.config().name;
                tracing::error!(target: "engine", engine, "the engine was not stopped: {reason}");
            }
        });
        join_all(stopping).await;
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<EngineClient>> {
        self.0.iter()
    }

    /// Where the embedded engines that are ready listen, whenever it is asked.
    pub fn listening(&self) -> impl Fn() -> Vec<SocketAddr> + Send + Sync + 'static {
        let states: Vec<_> = self.iter().filter_map(|engine| engine.embedded_state()).collect();
        move || {
            let address = |state: &watch::Receiver<EmbeddedState>| match &*state.borrow() {
                EmbeddedState::Ready(endpoint) => endpoint.address(),
                EmbeddedState::Starting | EmbeddedState::Downloading { .. } | EmbeddedState::Down { .. } => {
                    None
                }
            };
            states.iter().filter_map(address).collect()
        }
    }
}

fn start(
    engine: &EngineConfig,
    guard: &Path,
    data_dir: &Path,
    clock: &SharedClock,
    ids: &Arc<Ids>,
) -> Result<EngineClient, EngineUnusable> {
    let connect_timeout_ms = engine.connect_timeout.0;
    let (source, transport) = match &engine.kind {
        EngineKind::OpenAi(openai) => {
            let transport = match openai.base_url.scheme() {
                "https" => Transport::secure(Arc::clone(clock), connect_timeout_ms)
                    .map_err(|source| EngineUnusable::Tls { engine: engine.name.clone(), source })?,
                _ => Transport::plain(Arc::clone(clock), connect_timeout_ms),
            };
            (Source::Fixed(target(&engine.name, openai)?), transport)
        }
        EngineKind::Command(command) => {
            let target = target(&engine.name, &command.openai)?;
            let (name, guard) = (engine.name.clone(), guard.to_owned());
            let process = CommandProcess::new(name, command.clone(), guard, Arc::clone(clock));
            (
                Source::Command(target, Box::new(process)),
                Transport::plain(Arc::clone(clock), connect_timeout_ms),
            )
        }
        EngineKind::Embedded(embedded) => {
            let program = program(&engine.name, embedded, data_dir)?;
            let source = Source::Embedded(Embedded::start(program, Arc::clone(clock), Arc::clone(ids)));
            (source, Transport::plain(Arc::clone(clock), connect_timeout_ms))
        }
    };
    Ok(EngineClient::new(engine.clone(), source, transport, Arc::clone(clock)))
}

/// This program. On Linux that is the file that runs, whatever stands at its path by now.
fn own_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("overnight"))
}

/// Where the settings say that an engine is.
fn target(engine: &str, openai: &OpenAiConfig) -> Result<Arc<Target>, EngineUnusable> {
    let key = openai.api_key_env.as_ref().map(|variable| read_key(engine, variable)).transpose()?;
    let target = Target::new(openai.base_url.as_str(), key);
    target.map(Arc::new).map_err(|source| EngineUnusable::Address { engine: engine.to_owned(), source })
}

fn program(engine: &str, embedded: &EmbeddedConfig, data_dir: &Path) -> Result<Program, EngineUnusable> {
    let model = match &embedded.model {
        ModelSource::File(path) => ModelFile::At(path.clone()),
        ModelSource::Hub(name) => ModelFile::OfHub(name.clone()),
        ModelSource::Boxed => {
            let path = boxed_model::path_in(data_dir);
            boxed_model::place(&path)
                .map_err(|source| EngineUnusable::BoxedModel { path: path.clone(), source })?;
            ModelFile::At(path)
        }
    };
    Ok(Program { engine: engine.to_owned(), config: embedded.clone(), model })
}

fn read_key(engine: &str, variable: &str) -> Result<Secret, EngineUnusable> {
    Secret::read(std::env::var_os(variable)).map_err(|reason| EngineUnusable::Key {
        engine: engine.to_owned(),
        variable: variable.to_owned(),
        reason,
    })
}
