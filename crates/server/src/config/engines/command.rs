//! Engines that the service starts by a command while their models have work.

use std::collections::BTreeMap;
use std::path::PathBuf;

use overnight_domain::scheduler::{DailyLimits, RateLimits};
use url::Url;

use super::super::section::Section;
use super::super::{ConfigError, Millis, OutgoingConfig, ProxyUse, daily_limits, rate_limits};
use super::{
    EngineConfig, EngineKind, Extras, OpenAiConfig, base_url, cache_salt, is_loopback, key_source, path,
    refuse_others, variable_name,
};

/// The settings that only engines of this kind have.
pub(super) const KEYS: [&str; 8] =
    ["command", "working_dir", "env", "pass_env", "stop_timeout", "start_after", "idle_stop", "exclusive"];

const START_TIMEOUT: Millis = Millis(15 * 60_000);
const STOP_TIMEOUT: Millis = Millis(30_000);
const START_AFTER: Millis = Millis(10_000);
const IDLE_STOP: Millis = Millis(10 * 60_000);
pub(super) const TIME_SLICE: Millis = Millis(3_600_000);

/// A server of the OpenAI API that the service starts and stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfig {
    /// The program and its arguments; the program is not empty.
    pub command: Vec<String>,
    /// Where it runs; the working directory of the service where `None`.
    pub working_dir: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    /// Variables of the service that it gets besides those that each engine gets.
    pub pass_env: Vec<String>,
    /// How long it may take from its start to its first completion.
    pub start_timeout: Millis,
    /// How long it may take to end when it is told to; then it is killed.
    pub stop_timeout: Millis,
    /// How long its models must have had work before it is started.
    pub start_after: Millis,
    /// How long its models must have had no work before it is stopped.
    pub idle_stop: Millis,
    /// The device that it shares with other engines, one of which runs at a time.
    pub exclusive: Option<ExclusiveDevice>,
    /// How it is called once it runs: at a port of this machine, by this service alone, without rate limits and daily budget.
    pub openai: OpenAiConfig,
}

/// A device that one running engine uses at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExclusiveDevice {
    /// Its name; engines that name the same device never run together.
    pub name: String,
    /// How long the engine may keep it while another one waits for it.
    pub time_slice: Millis,
}

impl CommandConfig {
    /// The port at which the command must listen.
    pub fn port(&self) -> u16 {
        self.openai.base_url.port_or_known_default().unwrap_or_default()
    }

    /// Whether both can be configured: they listen at different ports, or never run together.
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
) -> Result<(), ConfigError> {
    let EngineKind::Command(command) = &engine.kind else { return Ok(()) };
    let clashes = |other: &&EngineConfig| match &other.kind {
        EngineKind::Command(other) => !command.fits_with(other),
        EngineKind::OpenAi(_) | EngineKind::Embedded(_) => false,
    };
    match others.iter().find(clashes) {
        Some(other) => {
            let what = format!(
                "has the port of the engine {:?}: give it another one, or give both engines the same `exclusive`",
                other.name
            );
            Err(section.refuse("base_url", what))
        }
        None => Ok(()),
    }
}

pub(super) fn read(section: &Section<'_>) -> Result<CommandConfig, ConfigError> {
    if !cfg!(unix) {
        return Err(section.refuse("kind", "\"command\" needs Linux or another Unix"));
    }
    let hosted = [
        "shared",
        "colocated_share",
        "one_model_at_a_time",
        rate_limits::REQUESTS,
        rate_limits::TOKENS,
        daily_limits::REQUESTS,
        daily_limits::TOKENS,
    ];
    refuse_others(section, "openai", &hosted)?;
    let duration = |key, range, described: &str| section.bounded(key, range, described);
    Ok(CommandConfig {
        command: read_command(section)?,
        working_dir: path(section, "working_dir")?,
        env: read_env(section)?,
        pass_env: read_names(section)?,
        start_timeout: start_timeout(section)?,
        stop_timeout: duration("stop_timeout", Millis(1_000)..=Millis(3_600_000), "1s to 1h")?
            .unwrap_or(STOP_TIMEOUT),
        start_after: duration("start_after", Millis(0)..=Millis(86_400_000), "0s to 24h")?
            .unwrap_or(START_AFTER),
        idle_stop: duration("idle_stop", Millis(1_000)..=Millis(7 * 86_400_000), "1s to 7d")?
            .unwrap_or(IDLE_STOP),
        exclusive: read_exclusive(section)?,
        openai: OpenAiConfig {
            base_url: section.required("base_url", section.read("base_url", own_url)?)?,
            api_key: key_source::read(section)?,
            extras: Extras::default(),
            outgoing: OutgoingConfig { proxy: ProxyUse::Direct, ..OutgoingConfig::default() },
            is_discovered: false,
            is_shared: false,
            cache_salt: section.read("cache_salt", cache_salt)?.unwrap_or_default(),
            colocated_percent: None,
            rate_limits: RateLimits::default(),
            daily_limits: DailyLimits::default(),
            turns: None,
        },
    })
}

/// How long it may take until it is ready.
pub(super) fn start_timeout(section: &Section<'_>) -> Result<Millis, ConfigError> {
    let read = section.bounded("start_timeout", Millis(1_000)..=Millis(86_400_000), "1s to 24h")?;
    Ok(read.unwrap_or(START_TIMEOUT))
}

/// How long it may keep what it shares, where that is said.
pub(super) fn time_slice(section: &Section<'_>) -> Result<Option<Millis>, ConfigError> {
    section.bounded("time_slice", Millis(60_000)..=Millis(86_400_000), "1m to 24h")
}

fn read_command(section: &Section<'_>) -> Result<Vec<String>, ConfigError> {
    let command = section.required("command", section.strings("command")?)?;
    if command.first().is_none_or(String::is_empty) || command.iter().any(|part| part.contains('\0')) {
        let what = "must be a program and its arguments, like [\"vllm\", \"serve\", \"MODEL\"]";
        return Err(section.refuse("command", what));
    }
    Ok(command)
}

fn read_env(section: &Section<'_>) -> Result<BTreeMap<String, String>, ConfigError> {
    let env = section.string_map("env")?.unwrap_or_default();
    for (name, value) in &env {
        variable_name(name).map_err(|wanted| {
            section.refuse("env", format!("must have as each name {wanted}, and has {name:?}"))
        })?;
        if value.contains('\0') {
            return Err(
                section.refuse("env", format!("has a value that no variable can have: that of {name}"))
            );
        }
    }
    Ok(env)
}

fn read_names(section: &Section<'_>) -> Result<Vec<String>, ConfigError> {
    let names = section.strings("pass_env")?.unwrap_or_default();
    for name in &names {
        variable_name(name).map_err(|wanted| {
            section.refuse("pass_env", format!("must be a list in which each is {wanted}, and has {name:?}"))
        })?;
    }
    Ok(names)
}

fn read_exclusive(section: &Section<'_>) -> Result<Option<ExclusiveDevice>, ConfigError> {
    let named = |text: &str| match text.trim() {
        "" => Err("the name of a device, like \"gpu-0\"".to_owned()),
        name => Ok(name.to_owned()),
    };
    let name = section.read("exclusive", named)?;
    match (name, time_slice(section)?) {
        (Some(name), time_slice) => {
            Ok(Some(ExclusiveDevice { name, time_slice: time_slice.unwrap_or(TIME_SLICE) }))
        }
        (None, Some(_)) => {
            Err(section.refuse("time_slice", "needs `exclusive`: the device that is shared by time"))
        }
        (None, None) => Ok(None),
    }
}

/// An http address of this machine with a port, at which a command can listen.
fn own_url(text: &str) -> Result<Url, String> {
    let is_own =
        |url: &Url| url.scheme() == "http" && is_loopback(url) && url.port().is_some_and(|port| port > 0);
    base_url(text).ok().filter(is_own).ok_or_else(|| {
        "an http address of this machine with the port at which the command listens (not 80), like \
         \"http://127.0.0.1:8000/v1\""
            .to_owned()
    })
}
