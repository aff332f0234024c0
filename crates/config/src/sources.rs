//! The sources of settings, in order of precedence.

use std::path::{Path, PathBuf};

use overnight_base::paths::expanded;

use super::tree::{Node, Value};
use super::{ConfigError, Read, manual};

const PREFIX: &str = "OVERNIGHT_";

/// Variables with our prefix that are not settings: those of the client commands, and the path of the file.
const NOT_SETTINGS: [&str; 4] =
    ["OVERNIGHT_URL", "OVERNIGHT_API_KEY", "OVERNIGHT_CONFIG", "OVERNIGHT_WEBHOOK_SECRET"];

/// Variables that Kubernetes sets in every pod beside a service called `overnight`.
const OF_KUBERNETES: [&str; 2] = ["OVERNIGHT_PORT", "OVERNIGHT_SERVICE_"];

/// Names the operator's file.
pub const CONFIG_VARIABLE: &str = "OVERNIGHT_CONFIG";

/// The layers above the built-in defaults; later ones win.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub file: Option<PathBuf>,
    /// Environment variables; those without our prefix are ignored.
    pub environment: Vec<(String, String)>,
    /// Flags, as the path of the setting (`limits.request_body`) and its text.
    pub flags: Vec<(String, String)>,
}

impl Sources {
    /// The sources of this process: `file`, by default the file that `OVERNIGHT_CONFIG` names, by default `overnight.toml` in the working
    /// directory if it exists; the environment; and `flags`.
    pub fn of_process(file: Option<PathBuf>, flags: Vec<(String, String)>) -> Self {
        let named = || {
            let name = std::env::var_os(CONFIG_VARIABLE).filter(|name| !name.is_empty())?;
            // A path that cannot be expanded is used unchanged, and reported if it does not exist.
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

    pub(super) fn merged(&self) -> Read<Node> {
        let mut settings = manual::defaults();
        if let Some(path) = &self.file {
            settings.merge(read_file(path)?);
        }
        for (name, value) in &self.environment {
            // Kubernetes secrets often end with a line break.
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

fn read_file(path: &Path) -> Read<Node> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        ConfigError::new(format!("the configuration file {name} cannot be read: {error}"))
    })?;
    let layer = Node::document(&text, &name)?;
    manual::check(&layer)?;
    Ok(layer)
}

/// The path of a variable's setting; `None` if it is not one of ours.
fn setting_of(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(PREFIX)?;
    if NOT_SETTINGS.contains(&variable) || OF_KUBERNETES.iter().any(|other| variable.starts_with(other)) {
        return None;
    }
    Some(name.to_ascii_lowercase().replace("__", "."))
}

/// A layer with the one setting at `path`, read as the type that the manual shows.
fn from_text(path: &str, text: &str, origin: &str) -> Read<Node> {
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

/// Whether the path leads into a list, whose sections have no names.
fn is_in_list(path: &str) -> bool {
    path.split_once('.')
        .and_then(|(head, _)| manual::example(head))
        .is_some_and(|node| matches!(node.value, Value::List(_)))
}
