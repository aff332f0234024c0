//! Where settings come from, in the order in which they overrule each other.

use std::path::{Path, PathBuf};

use overnight_base::paths::expanded;

use super::tree::{Node, Value};
use super::{ConfigError, manual};

const PREFIX: &str = "OVERNIGHT_";

/// Variables with our prefix that are no settings: those of the client commands, and the path of the file.
const NOT_SETTINGS: [&str; 4] =
    ["OVERNIGHT_URL", "OVERNIGHT_API_KEY", "OVERNIGHT_CONFIG", "OVERNIGHT_WEBHOOK_SECRET"];

/// Variables that Kubernetes sets in every pod beside a service that is called `overnight`.
const OF_KUBERNETES: [&str; 2] = ["OVERNIGHT_PORT", "OVERNIGHT_SERVICE_"];

/// The environment variable that names the operator's file.
pub const CONFIG_VARIABLE: &str = "OVERNIGHT_CONFIG";

/// What lies over the built-in defaults; later ones win.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// Environment variables; those without our prefix are passed over.
    pub environment: Vec<(String, String)>,
    /// Flags, as the path of the setting (`limits.request_body`) and its text.
    pub flags: Vec<(String, String)>,
}

impl Sources {
    /// The sources of this process: `file` if given, else what `OVERNIGHT_CONFIG` names, else `overnight.toml` in
    /// the working directory if there is one; the process's environment; and `flags`.
    pub fn of_process(file: Option<PathBuf>, flags: Vec<(String, String)>) -> Self {
        let named = || {
            let name = std::env::var_os(CONFIG_VARIABLE).filter(|name| !name.is_empty())?;
            // What cannot be expanded is looked for as it is, and told of when it is not there.
            Some(expanded(&name).unwrap_or_else(|_| PathBuf::from(name)))
        };
        let beside = || Some(PathBuf::from("overnight.toml")).filter(|path| path.exists());
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
            })
            .collect();
        Self { file: file.or_else(named).or_else(beside), environment, flags }
    }

    /// Every layer laid over the defaults.
    pub(super) fn merged(&self) -> Result<Node, ConfigError> {
        let mut settings = manual::defaults();
        if let Some(path) = &self.file {
            settings.merge(read_file(path)?);
        }
        for (name, value) in &self.environment {
            // Secrets of Kubernetes often end in a line's end.
            let value = value.trim();
            if let Some(path) = setting_of(name).filter(|_| !value.is_empty()) {
                settings.merge(from_text(&path, value, name)?);
            }
        }
        for (path, value) in &self.flags {
            settings.merge(from_text(path, value, &format!("--{}", path.replace(['_', '.'], "-")))?);
        }
        Ok(settings)
    }
}

fn read_file(path: &Path) -> Result<Node, ConfigError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        ConfigError::new(format!("the configuration file {name} cannot be read: {error}"))
    })?;
    let layer = Node::document(&text, &name)?;
    manual::check(&layer)?;
    Ok(layer)
}

/// The path of the setting that a variable names, if it is one of ours.
fn setting_of(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(PREFIX)?;
    if NOT_SETTINGS.contains(&variable) || OF_KUBERNETES.iter().any(|other| variable.starts_with(other)) {
        return None;
    }
    Some(name.to_ascii_lowercase().replace("__", "."))
}

/// A layer of the one setting at `path`, read as the kind that the manual shows for it.
fn from_text(path: &str, text: &str, origin: &str) -> Result<Node, ConfigError> {
    let Some(example) = manual::example(path).filter(|_| !is_in_list(path)) else {
        return Err(manual::unknown(path, origin));
    };
    let string = || Value::String(text.to_owned());
    let value = match &example.value {
        Value::Integer(_) => text.parse().map_or_else(|_| string(), Value::Integer),
        Value::Boolean(_) => text.parse().map_or_else(|_| string(), Value::Boolean),
        Value::List(_) => Node::single(text, origin)?.value,
        Value::String(_) | Value::Table(_) | Value::Other(_) => string(),
    };
    let leaf = Node { value, origin: origin.into() };
    let layer = path.rsplit('.').fold(leaf, |node, key| Node {
        value: Value::Table([(key.to_owned(), node)].into()),
        origin: origin.into(),
    });
    manual::check(&layer)?;
    Ok(layer)
}

/// Whether the path leads into a list, whose sections have no names to be told by.
fn is_in_list(path: &str) -> bool {
    path.split_once('.')
        .and_then(|(head, _)| manual::example(head))
        .is_some_and(|node| matches!(node.value, Value::List(_)))
}
