//! The engines that answer.

mod command;
mod embedded;
mod extras;
mod key_source;
mod one_model;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use overnight_domain::scheduler::{DailyLimits, RateLimits};
use url::{Host, Url};

pub use self::command::{CommandConfig, ExclusiveDevice};
pub use self::embedded::{EmbeddedConfig, ModelSource};
pub use self::extras::{Extras, ValueSource};
pub use self::key_source::KeySource;
pub use self::one_model::ModelTurns;
use overnight_base::paths::expanded;

use super::models::{self, ModelConfig};
use super::section::Section;
use super::{
    BOXED_MODEL, ConfigError, Millis, OutgoingConfig, WeeklyHours, daily_limits, hours, rate_limits,
};

const FIRST_CONCURRENCY: u32 = 64;
const MAX_CONCURRENCY: u32 = 1_024;
const REQUEST_TIMEOUT: Millis = Millis(600_000);
const CONNECT_TIMEOUT: Millis = Millis(10_000);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    pub name: String,
    /// The models it serves: our name and the engine's. At least one, all of them configured.
    pub models: BTreeMap<String, String>,
    /// Requests it is sent at once, at most.
    pub max_concurrency: u32,
    /// Requests it is sent at once at first. The scheduler finds out how many it can work on.
    pub first_concurrency: u32,
    /// How long it may take to answer one request.
    pub request_timeout: Millis,
    /// How long connecting to it may take.
    pub connect_timeout: Millis,
    /// When it is used; `None` where that is always.
    pub hours: Option<WeeklyHours>,
    pub kind: EngineKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineKind {
    OpenAi(OpenAiConfig),
    /// A child process of the service.
    Embedded(EmbeddedConfig),
    /// A server of the OpenAI API that the service starts while its models have work.
    Command(CommandConfig),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAiConfig {
    /// What `/chat/completions` and `/models` are under: http or https, without a slash at its end.
    pub base_url: Url,
    /// Where its key stands.
    pub api_key: Option<KeySource>,
    /// Headers and query parameters that each call carries.
    pub extras: Extras,
    pub outgoing: OutgoingConfig,
    /// Whether each address of the host is a replica of its own, whichever there are at the time.
    pub is_discovered: bool,
    /// Whether other nodes reach the same engine at this address, so that one of them drives it at a time.
    pub is_shared: bool,
    /// Whether it is sent `cache_salt`.
    pub cache_salt: CacheSaltUse,
    /// Where it serves online traffic too, the part of `max_concurrency` that it is sent at most, in percent.
    pub colocated_percent: Option<u8>,
    /// What it is sent in a minute, at most.
    pub rate_limits: RateLimits,
    /// What it is sent on a day, at most.
    pub daily_limits: DailyLimits,
    /// Where it holds one model at a time: how its models take turns.
    pub turns: Option<ModelTurns>,
}

/// Whether an engine is sent `cache_salt`, which strict engines refuse as an unknown field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheSaltUse {
    /// If its list of models says that it is vLLM.
    #[default]
    Auto,
    Always,
    /// Not even if it is vLLM.
    Never,
}

impl EngineConfig {
    /// How it is called, where its address is in the settings.
    pub fn openai(&self) -> Option<&OpenAiConfig> {
        match &self.kind {
            EngineKind::OpenAi(openai) => Some(openai),
            EngineKind::Command(command) => Some(&command.openai),
            EngineKind::Embedded(_) => None,
        }
    }

    /// By which name nodes agree on who drives it: its address; `None` where it is this node's own.
    pub fn shared_name(&self) -> Option<&str> {
        self.openai().filter(|openai| openai.is_shared).map(|openai| openai.base_url.as_str())
    }

    /// The part of `max_concurrency` that it is sent at most, in percent, where it serves online traffic too.
    pub fn colocated_percent(&self) -> Option<u8> {
        self.openai()?.colocated_percent
    }

    /// Whether it stands for all replicas whose addresses DNS names.
    pub fn is_discovered(&self) -> bool {
        self.openai().is_some_and(|openai| openai.is_discovered)
    }

    /// One of the replicas that it stands for.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Self {
        let mut replica = self.clone();
        replica.name = format!("{}/{address}", self.name);
        if let EngineKind::OpenAi(openai) = &mut replica.kind {
            openai.is_discovered = false;
            // A base URL has a host that an address can stand for.
            let _ = openai.base_url.set_ip_host(address);
        }
        replica
    }

    /// What it is sent in a minute, at most.
    pub fn rate_limits(&self) -> RateLimits {
        self.openai().map(|openai| openai.rate_limits).unwrap_or_default()
    }

    /// What it is sent on a day, at most.
    pub fn daily_limits(&self) -> DailyLimits {
        self.openai().map(|openai| openai.daily_limits).unwrap_or_default()
    }

    /// Whether each call of it counts against a limit of ours: then none is made that the scheduler does not know of.
    pub fn counts_calls(&self) -> bool {
        self.rate_limits().are_set() || self.daily_limits().are_set()
    }

    /// The embedded engine with the model in the box.
    pub(super) fn boxed() -> Self {
        Self::embedded("embedded", BOXED_MODEL, ModelSource::Boxed)
    }

    /// An embedded engine with the model `source`, served as `model`, with the defaults of all other settings.
    pub(super) fn embedded(name: &str, model: &str, source: ModelSource) -> Self {
        Self {
            name: name.to_owned(),
            models: [(model.to_owned(), model.to_owned())].into(),
            max_concurrency: embedded::PARALLEL,
            first_concurrency: embedded::PARALLEL,
            request_timeout: REQUEST_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            hours: None,
            kind: EngineKind::Embedded(EmbeddedConfig {
                model: source,
                served_name: model.to_owned(),
                threads: None,
                parallel: embedded::PARALLEL,
                context: None,
                gpu_layers: None,
                engine_path: None,
            }),
        }
    }
}

/// The configured engines, each of which serves some of `models`.
pub(super) fn read(
    root: &Section<'_>,
    models: &[ModelConfig],
    outgoing: &OutgoingConfig,
) -> Result<Vec<EngineConfig>, ConfigError> {
    let mut engines: Vec<EngineConfig> = Vec::new();
    for section in root.sections("engines")? {
        let engine = read_one(&section, models, outgoing)?;
        if engines.iter().any(|other| other.name == engine.name) {
            return Err(section.refuse("name", format!("is given twice: {:?}", engine.name)));
        }
        command::refuse_shared_port(&section, &engine, &engines)?;
        one_model::refuse_shared_name(&section, &engine, &engines)?;
        engines.push(engine);
    }
    Ok(engines)
}

fn read_one(
    section: &Section<'_>,
    models: &[ModelConfig],
    outgoing: &OutgoingConfig,
) -> Result<EngineConfig, ConfigError> {
    let name = models::name(section)?;
    let served = served(section, models)?;
    let kind = section.required("kind", section.string("kind")?)?;
    for (other, keys) in [("embedded", &embedded::KEYS[..]), ("command", &command::KEYS[..])] {
        if kind != other {
            refuse_others(section, other, keys)?;
        }
    }
    let kind = match kind {
        "openai" => EngineKind::OpenAi(read_openai(section, outgoing)?),
        "embedded" => EngineKind::Embedded(embedded::read(section, &served)?),
        "command" => EngineKind::Command(command::read(section)?),
        other => {
            let what = format!("must be \"openai\", \"command\" or \"embedded\", and is {other:?}");
            return Err(section.refuse("kind", what));
        }
    };
    let set = section.integer("max_concurrency", 1..=65_536)?;
    let (first_concurrency, max_concurrency) = match (&kind, set) {
        (_, Some(most)) => (most, most),
        (EngineKind::OpenAi(_) | EngineKind::Command(_), None) => (FIRST_CONCURRENCY, MAX_CONCURRENCY),
        (EngineKind::Embedded(embedded), None) => (embedded.parallel, embedded.parallel),
    };
    Ok(EngineConfig {
        name,
        models: served,
        max_concurrency,
        first_concurrency,
        request_timeout: section
            .bounded("request_timeout", Millis(1_000)..=Millis(86_400_000), "1s to 24h")?
            .unwrap_or(REQUEST_TIMEOUT),
        connect_timeout: section
            .bounded("connect_timeout", Millis(100)..=Millis(60_000), "100ms to 1m")?
            .unwrap_or(CONNECT_TIMEOUT),
        hours: hours::read(section)?,
        kind,
    })
}

/// Our names of the models it serves, and its own.
fn served(section: &Section<'_>, models: &[ModelConfig]) -> Result<BTreeMap<String, String>, ConfigError> {
    let Some(named) = section.string_map("models")? else {
        if models.is_empty() {
            return Err(
                section.refuse("name", "belongs to an engine without a model: add a [[models]] section")
            );
        }
        return Ok(models.iter().map(|model| (model.name.clone(), model.name.clone())).collect());
    };
    if named.is_empty() {
        return Err(section.refuse("models", "names no model"));
    }
    match named.keys().find(|name| models.iter().all(|model| model.name != **name)) {
        Some(name) => {
            let what = match models.iter().find(|model| model.aliases.contains(name)) {
                Some(model) => format!("names {name:?}, which is an alias: name {:?}", model.name),
                None => format!("names {name:?}, which has no [[models]] section"),
            };
            Err(section.refuse("models", what))
        }
        None => Ok(named),
    }
}

fn read_openai(section: &Section<'_>, outgoing: &OutgoingConfig) -> Result<OpenAiConfig, ConfigError> {
    let is_shared = section.boolean("shared")?;
    let api_key = key_source::read(section)?;
    let base_url = section.required("base_url", section.read("base_url", base_url)?)?;
    let is_discovered = discovery(section, &base_url)?;
    let is_shared = is_shared.unwrap_or_else(|| !is_loopback(&base_url));
    let cache_salt = section.read("cache_salt", cache_salt)?.unwrap_or_default();
    let colocated_percent = section.read("colocated_share", percent)?;
    if colocated_percent.is_some() && !section.has("max_concurrency") {
        let what =
            "needs `max_concurrency`: the requests that the engine runs at once, online traffic included";
        return Err(section.refuse("colocated_share", what));
    }
    Ok(OpenAiConfig {
        base_url,
        api_key,
        extras: extras::read(section)?,
        outgoing: outgoing.of_engine(section)?,
        is_discovered,
        is_shared,
        cache_salt,
        colocated_percent,
        rate_limits: rate_limits::read(section)?,
        daily_limits: daily_limits::read(section)?,
        turns: one_model::read(section)?,
    })
}

/// Whether the replicas are those that DNS names. A certificate is for a name, and a limit for a contract: neither is an address's own.
fn discovery(section: &Section<'_>, base_url: &Url) -> Result<bool, ConfigError> {
    let read = |text: &str| if text == "dns" { Ok(()) } else { Err("\"dns\"".to_owned()) };
    if section.read("discovery", read)?.is_none() {
        return Ok(false);
    }
    if base_url.scheme() != "http" || base_url.domain().is_none() {
        return Err(
            section.refuse("discovery", "needs a `base_url` that begins with http:// and a name of DNS")
        );
    }
    let limits = [rate_limits::REQUESTS, rate_limits::TOKENS, daily_limits::REQUESTS, daily_limits::TOKENS];
    match limits.into_iter().find(|limit| section.has(limit)) {
        Some(limit) => {
            Err(section
                .refuse("discovery", format!("makes several replicas, and `{limit}` is a limit of one")))
        }
        None => Ok(true),
    }
}

fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|it| it.parse().ok()).filter(|it| (1..=100).contains(it));
    number.ok_or_else(|| "a whole number from 1 to 100 and %, like \"50%\"".to_owned())
}

fn cache_salt(text: &str) -> Result<CacheSaltUse, String> {
    match text {
        "auto" => Ok(CacheSaltUse::Auto),
        "always" => Ok(CacheSaltUse::Always),
        "never" => Ok(CacheSaltUse::Never),
        _ => Err("\"auto\", \"always\" or \"never\"".to_owned()),
    }
}

/// The name of an environment variable that is no setting.
pub(super) fn variable_name(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && !text.contains(['=', '\0']) && !text.starts_with("OVERNIGHT_");
    let wanted = "the name of an environment variable that does not begin with OVERNIGHT_";
    fits.then(|| text.to_owned()).ok_or_else(|| wanted.to_owned())
}

/// Whether only this machine reaches it.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// An http or https address without a query, a fragment, user information, or a slash at its end.
pub(super) fn base_url(text: &str) -> Result<Url, String> {
    let wanted = "an http or https address like \"http://127.0.0.1:8000/v1\", without a query or user";
    let mut url = Url::parse(text).map_err(|_| wanted)?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.query().is_none()
        && url.fragment().is_none()
        && url.username().is_empty()
        && url.password().is_none();
    let path = url.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    is_plain.then_some(url).ok_or_else(|| wanted.to_owned())
}

/// A path that is not empty.
pub(super) fn path(section: &Section<'_>, key: &str) -> Result<Option<PathBuf>, ConfigError> {
    section.read(key, |text| if text.is_empty() { Err("a path".to_owned()) } else { expanded(text) })
}

fn refuse_others(section: &Section<'_>, kind: &str, keys: &[&str]) -> Result<(), ConfigError> {
    match keys.iter().find(|key| section.has(key)) {
        Some(key) => Err(section.refuse(key, format!("is a setting of engines with kind = \"{kind}\""))),
        None => Ok(()),
    }
}
