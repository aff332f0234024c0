//! Embedded engines: child processes of the service that serve one model file each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use overnight_base::paths::expanded;
use overnight_hub::HubName;

use crate::Read;
use crate::section::Section;
use crate::values::{integer, like, path};

/// Requests that are computed together, by default.
pub(super) const PARALLEL: u32 = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSource {
    Boxed,
    File(PathBuf),
    /// On the Hub; it is downloaded if the Hub's cache on this machine lacks it.
    Hub(HubName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedConfig {
    pub model: ModelSource,
    /// The name that the child serves it under.
    pub served_name: String,
    /// `None`: chosen by the child.
    pub threads: Option<u32>,
    /// Requests that are computed together.
    pub parallel: u32,
    /// Tokens of one request; `None`: chosen by the child.
    pub context: Option<u32>,
    /// Layers that GPUs compute; `None`: chosen by the child.
    pub gpu_layers: Option<u32>,
    /// The program; `None`: the one in the folder of this program.
    pub engine_path: Option<PathBuf>,
}

pub(super) fn read(section: &Section<'_>, served: &BTreeMap<String, String>) -> Read<EmbeddedConfig> {
    let mut names = served.values();
    let first = names.next().cloned().unwrap_or_default();
    let what = "must say which model this is: an embedded engine serves one, like { \"ours\" = \"ours\" }";
    section.forbid("models", names.any(|other| *other != first).then_some(what))?;
    Ok(EmbeddedConfig {
        model: section.find("model_path", like(model_source))?.unwrap_or(ModelSource::Boxed),
        served_name: first,
        threads: section.find("threads", integer(1..=1_024))?,
        parallel: section.find("parallel", integer(1..=128))?.unwrap_or(PARALLEL),
        context: section.find("context", integer(16..=16_777_216))?,
        gpu_layers: section.find("gpu_layers", integer(0..=1_000))?,
        engine_path: section.find("engine_path", path)?,
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
