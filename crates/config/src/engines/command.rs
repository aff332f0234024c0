//! Engines that the service starts by a command while their models have work.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use super::{EngineConfig, EngineKind, OpenAiConfig, read_openai};
use crate::section::Section;
use crate::tree::Value;
use crate::values::{base_url, is_loopback, like, path, text_map, texts, variable_name, within};
use crate::{Millis, OutgoingConfig, ProxyUse, Read};

const START_TIMEOUT: Millis = Millis(15 * 60_000);
const STOP_TIMEOUT: Millis = Millis(30_000);
const START_AFTER: Millis = Millis(10_000);
const IDLE_STOP: Millis = Millis(10 * 60_000);
pub(super) const TIME_SLICE: Millis = Millis(3_600_000);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfig {
    /// The program and its arguments; the program is not empty.
    pub command: Vec<String>,
    /// `None`: the working directory of the service.
    pub working_dir: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    /// Variables that it gets in addition to those of each engine.
    pub pass_env: Vec<String>,
    /// From its start to its first completion.
    pub start_timeout: Millis,
    /// After a request to end; then it is killed.
    pub stop_timeout: Millis,
    /// How long its models must have had work before it is started.
    pub start_after: Millis,
    /// How long its models must have had no work before it is stopped.
    pub idle_stop: Millis,
    /// The device that it shares with other engines.
    pub exclusive: Option<ExclusiveDevice>,
    /// How it is called: at a port of this machine, only by this service, without rate limits and daily budget.
    pub openai: OpenAiConfig,
}

/// A device that one running engine uses at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusiveDevice {
    /// Engines with the same device name never run together.
    pub name: String,
    /// How long the engine may keep it while another one waits.
    pub time_slice: Millis,
}

impl CommandConfig {
    pub fn port(&self) -> u16 {
        self.openai.base_url.port_or_known_default().unwrap_or_default()
    }

    /// Whether both can be configured: they have different ports, or never run together.
    pub(super) fn fits_with(&self, other: &Self) -> bool {
        let device = |config: &Self| config.exclusive.as_ref().map(|device| device.name.clone());
        self.port() != other.port() || device(self).is_some() && device(self) == device(other)
    }
}

/// Two commands cannot listen at one port, unless they never run together.
pub(super) fn refuse_shared_port(
    section: &Section<'_>,
    engine: &EngineConfig,
    others: &[EngineConfig],
) -> Read<()> {
    let EngineKind::Command(command) = &engine.kind else { return Ok(()) };
    let clashes = |other: &&EngineConfig| match &other.kind {
        EngineKind::Command(other) => !command.fits_with(other),
        EngineKind::OpenAi(_) | EngineKind::Embedded(_) => false,
    };
    let what = |other: &EngineConfig| {
        format!(
            "has the port of the engine {:?}: give it another one, or give both engines the same `exclusive`",
            other.name
        )
    };
    section.forbid("base_url", others.iter().find(clashes).map(what))
}

pub(super) fn read(section: &Section<'_>) -> Read<CommandConfig> {
    section.forbid("kind", (!cfg!(unix)).then_some("\"command\" needs Linux or another Unix"))?;
    let direct = OutgoingConfig { proxy: ProxyUse::Direct, ..OutgoingConfig::default() };
    let time = |key, bounds, default| Ok(section.find(key, within(bounds))?.unwrap_or(default));
    Ok(CommandConfig {
        command: section.get("command", command)?,
        working_dir: section.find("working_dir", path)?,
        env: section.find("env", env)?.unwrap_or_default(),
        pass_env: section.find("pass_env", names)?.unwrap_or_default(),
        start_timeout: start_timeout(section)?,
        stop_timeout: time("stop_timeout", "1s to 1h", STOP_TIMEOUT)?,
        start_after: time("start_after", "0s to 24h", START_AFTER)?,
        idle_stop: time("idle_stop", "1s to 7d", IDLE_STOP)?,
        exclusive: exclusive(section)?,
        openai: OpenAiConfig { is_shared: false, ..read_openai(section, own_url, direct)? },
    })
}

pub(super) fn start_timeout(section: &Section<'_>) -> Read<Millis> {
    Ok(section.find("start_timeout", within("1s to 24h"))?.unwrap_or(START_TIMEOUT))
}

pub(super) fn time_slice(section: &Section<'_>) -> Read<Option<Millis>> {
    section.find("time_slice", within("1m to 24h"))
}

fn command(value: &Value) -> Result<Vec<String>, String> {
    let command = texts(value)?;
    let names_program = command.first().is_some_and(|program| !program.is_empty());
    let fits = names_program && !command.iter().any(|part| part.contains('\0'));
    let wanted = "must be a program and its arguments, like [\"vllm\", \"serve\", \"MODEL\"]";
    fits.then_some(command).ok_or_else(|| wanted.to_owned())
}

fn env(value: &Value) -> Result<BTreeMap<String, String>, String> {
    let env = text_map(value)?;
    for (name, value) in &env {
        variable_name(name).map_err(|wanted| format!("must have as each name {wanted}, and has {name:?}"))?;
        if value.contains('\0') {
            return Err(format!("has a value that no variable can have: that of {name}"));
        }
    }
    Ok(env)
}

fn names(value: &Value) -> Result<Vec<String>, String> {
    let read = |name: &String| {
        let refuse = |wanted| format!("must be a list in which each is {wanted}, and has {name:?}");
        variable_name(name).map_err(refuse)
    };
    texts(value)?.iter().map(read).collect()
}

fn exclusive(section: &Section<'_>) -> Read<Option<ExclusiveDevice>> {
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let wanted = "the name of a device, like \"gpu-0\"";
    let name = section.find("exclusive", like(|text: &str| named(text).ok_or(wanted)))?;
    match (name, time_slice(section)?) {
        (Some(name), slice) => Ok(Some(ExclusiveDevice { name, time_slice: slice.unwrap_or(TIME_SLICE) })),
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(section.refuse("time_slice", "needs `exclusive`: the device that is shared by time"))
        }
    }
}

/// An http URL of this machine with a port, at which a command can listen.
fn own_url(text: &str) -> Result<Url, &'static str> {
    let is_own =
        |url: &Url| url.scheme() == "http" && is_loopback(url) && url.port().is_some_and(|port| port > 0);
    base_url(text).ok().filter(is_own).ok_or(
        "an http address of this machine with the port at which the command listens (not 80), like \
         \"http://127.0.0.1:8000/v1\"",
    )
}
