//! Embedded engines: child processes of the service that serve one model file each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use overnight_base::paths::expanded;
use overnight_hub::HubName;

use super::super::section::Section;
use super::super::{ConfigError, daily_limits, rate_limits};
use super::{one_model, path, refuse_others};

/// The most requests that are computed together, by default.
pub(super) const PARALLEL: u32 = 32;

/// The settings that only embedded engines have.
pub(super) const KEYS: [&str; 6] =
    ["model_path", "threads", "parallel", "context", "gpu_layers", "engine_path"];

/// Where the model of an embedded engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    Boxed,
    File(PathBuf),
    /// On the Hub; it is downloaded where the Hub's cache on this machine does not have it.
    Hub(HubName),
}

/// A child process of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedConfig {
    pub model: ModelSource,
    /// The name that the child serves it under.
    pub served_name: String,
    /// Threads that compute; the child's own choice where `None`.
    pub threads: Option<u32>,
    /// Requests that are computed together.
    pub parallel: u32,
    /// Tokens that one request may hold; the child's own choice where `None`.
    pub context: Option<u32>,
    /// Layers that GPUs compute; the child's own choice where `None`.
    pub gpu_layers: Option<u32>,
    /// The program, where it does not stand beside this one.
    pub engine_path: Option<PathBuf>,
}

/// The settings of an engine that serves these models under these names of its own.
pub(super) fn read(
    section: &Section<'_>,
    served: &BTreeMap<String, String>,
) -> Result<EmbeddedConfig, ConfigError> {
    refuse_others(
        section,
        "openai",
        &[
            "base_url",
            "api_key_env",
            "api_key_file",
            "discovery",
            "shared",
            "cache_salt",
            "colocated_share",
            "one_model_at_a_time",
            rate_limits::REQUESTS,
            rate_limits::TOKENS,
            daily_limits::REQUESTS,
            daily_limits::TOKENS,
        ],
    )?;
    refuse_others(section, "command", &one_model::COMMON_KEYS)?;
    let mut names = served.values();
    let first = names.next().cloned().unwrap_or_default();
    if names.any(|other| *other != first) {
        let what =
            "must say which model this is: an embedded engine serves one, like { \"ours\" = \"ours\" }";
        return Err(section.refuse("models", what));
    }
    Ok(EmbeddedConfig {
        model: section.read("model_path", model_source)?.unwrap_or(ModelSource::Boxed),
        served_name: first,
        threads: section.integer("threads", 1..=1_024)?,
        parallel: section.integer("parallel", 1..=128)?.unwrap_or(PARALLEL),
        context: section.integer("context", 16..=16_777_216)?,
        gpu_layers: section.integer("gpu_layers", 0..=1_000)?,
        engine_path: path(section, "engine_path")?,
    })
}

fn model_source(text: &str) -> Result<ModelSource, String> {
    match text {
        "" => Err("the path of a GGUF file, or a model of the Hub like \"hf:OWNER/REPO:Q4_K_M\"".to_owned()),
        _ if HubName::is_meant(text) => {
            let name = text.parse::<HubName>();
            name.map(ModelSource::Hub)
                .map_err(|_| "hf:OWNER/REPO, with @REVISION and :FILE or :QUANTISATION behind it".to_owned())
        }
        _ => expanded(text).map(ModelSource::File),
    }
}
