//! Engines: each is an OpenAI-compatible base URL, with one code path for all.

mod boxed_model;
mod calls;
mod choices;
mod client;
mod command;
mod discovery;
mod embedded;
mod environment;
mod keys;
mod limit_fields;
mod load;
mod loaded_model;
mod log_lines;
mod model_file;
mod models;
mod opening;
mod probes;
mod processes;
mod refusal;
mod registry;
mod served;
mod target;
mod unreadable;

use std::path::PathBuf;

use thiserror::Error;

pub use client::{Asked, EngineClient};
pub use command::{NotReady, ProcessStatus, check_port_free, find_program, run_guard};
pub use discovery::{EngineNames, Lookup};
pub use embedded::EmbeddedState;
pub use environment::engine_environment;
pub use model_file::{ModelFileUnusable, ModelPurpose, check_model_file};
pub use models::ListedModel;
pub use registry::Engines;

/// Why an engine cannot be used at all, for the operator.
#[derive(Debug, Error)]
pub enum EngineUnusable {
    /// The source of its key is unusable.
    #[error("engine `{engine}`: {place}, which should hold its key, {reason}")]
    Key { engine: String, place: String, reason: String },
    /// A certificate file is unusable, or this machine has no authorities.
    #[error("engine `{engine}`: no certificates to trust: {source}")]
    Tls { engine: String, source: std::io::Error },
    /// The base URL is not a valid HTTP URL.
    #[error("engine `{engine}`: `base_url` is no address for HTTP: {source}")]
    Address { engine: String, source: hyper::http::Error },
    /// The built-in model could not be written for the child.
    #[error("the model in the box cannot be written to {}: {source}", path.display())]
    BoxedModel { path: PathBuf, source: std::io::Error },
}
