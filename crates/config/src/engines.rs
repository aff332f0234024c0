mod command;
mod embedded;
mod extras;
mod key_source;
mod one_model;

use std::collections::BTreeMap;
use std::net::IpAddr;

use overnight_domain::scheduler::{DailyLimits, RateLimits};
use url::Url;

pub use self::command::{CommandConfig, ExclusiveDevice};
pub use self::embedded::{EmbeddedConfig, ModelSource};
pub use self::extras::{Extras, ValueSource};
pub use self::key_source::KeySource;
pub use self::one_model::ModelTurns;

use super::models::{self, ModelConfig};
use super::section::Section;
use super::values::{base_url, flag, integer, is_loopback, like, one_of, text_map, within};
use super::{BOXED_MODEL, Millis, OutgoingConfig, Read, WeeklyHours, hours};

const FIRST_CONCURRENCY: u32 = 64;
const MAX_CONCURRENCY: u32 = 1_024;
const REQUEST_TIMEOUT: Millis = Millis(600_000);
const CONNECT_TIMEOUT: Millis = Millis(10_000);

/// Contract limits, which apply once and not to each of several replicas.
const LIMITS: [&str; 4] =
    ["max_requests_per_minute", "max_tokens_per_minute", "max_requests_per_day", "max_tokens_per_day"];

/// Kinds of engines, and the settings that only they have. If another kind has such a setting, the error names the first of these kinds.
pub(super) const OWN_KEYS: [(&[&str], &[&str]); 7] = [
    (&["embedded"], &["model_path", "threads", "parallel", "context", "gpu_layers", "engine_path"]),
    (
        &["command"],
        &[
            "command",
            "working_dir",
            "env",
            "pass_env",
            "stop_timeout",
            "start_after",
            "idle_stop",
            "exclusive",
        ],
    ),
    (&["command", "openai"], &one_model::COMMON_KEYS),
    (&["openai", "command"], &["base_url", "api_key_env", "api_key_file", "cache_salt"]),
    (&["openai"], &["headers", "query", "ca_file", "proxy"]),
    (&["openai"], &["discovery", "shared", "colocated_share", "one_model_at_a_time"]),
    (&["openai"], &LIMITS),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineConfig {
    pub name: String,
    /// Our name and the engine's name of each model; at least one, all of them configured.
    pub models: BTreeMap<String, String>,
    pub max_concurrency: u32,
    /// Concurrent requests at first; the scheduler adapts the number.
    pub first_concurrency: u32,
    pub request_timeout: Millis,
    pub connect_timeout: Millis,
    /// Opening hours; `None`: always open.
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
    /// The base of `/chat/completions` and `/models`: http or https, without a slash at its end.
    pub base_url: Url,
    pub api_key: Option<KeySource>,
    /// Headers and query parameters of each call.
    pub extras: Extras,
    pub outgoing: OutgoingConfig,
    /// Whether each current address of the host is a replica.
    pub is_discovered: bool,
    /// Whether other nodes reach the same engine at this address, so that one of them drives it at a time.
    pub is_shared: bool,
    pub cache_salt: CacheSaltUse,
    /// If it serves online traffic too, the part of `max_concurrency` that it is sent at most, in percent.
    pub colocated_percent: Option<u8>,
    pub rate_limits: RateLimits,
    pub daily_limits: DailyLimits,
    /// How its models take turns, if it holds one model at a time.
    pub turns: Option<ModelTurns>,
}

/// Whether an engine receives `cache_salt`, which strict engines refuse as an unknown field.
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
    pub fn openai(&self) -> Option<&OpenAiConfig> {
        match &self.kind {
            EngineKind::OpenAi(openai) => Some(openai),
            EngineKind::Command(command) => Some(&command.openai),
            EngineKind::Embedded(_) => None,
        }
    }

    /// The name under which nodes agree on its driver: its address; `None` if only this node has it.
    pub fn shared_name(&self) -> Option<&str> {
        self.openai().filter(|openai| openai.is_shared).map(|openai| openai.base_url.as_str())
    }

    /// If it serves online traffic too, the part of `max_concurrency` that it is sent at most, in percent.
    pub fn colocated_percent(&self) -> Option<u8> {
        self.openai()?.colocated_percent
    }

    /// Whether it stands for one replica per DNS address.
    pub fn is_discovered(&self) -> bool {
        self.openai().is_some_and(|openai| openai.is_discovered)
    }

    /// The replica at one of its addresses.
    #[must_use]
    pub fn at(&self, address: IpAddr) -> Self {
        let mut replica = self.clone();
        replica.name = format!("{}/{address}", self.name);
        if let EngineKind::OpenAi(openai) = &mut replica.kind {
            openai.is_discovered = false;
            // A base URL has a host that an address can replace.
            let _ = openai.base_url.set_ip_host(address);
        }
        replica
    }

    pub fn rate_limits(&self) -> RateLimits {
        self.openai().map(|openai| openai.rate_limits).unwrap_or_default()
    }

    pub fn daily_limits(&self) -> DailyLimits {
        self.openai().map(|openai| openai.daily_limits).unwrap_or_default()
    }

    /// Whether each call counts against a configured limit: then the scheduler must know of every call.
    pub fn counts_calls(&self) -> bool {
        self.rate_limits().are_set() || self.daily_limits().are_set()
    }

    /// The embedded engine with the built-in model.
    pub(super) fn boxed() -> Self {
        Self::embedded("embedded", BOXED_MODEL, ModelSource::Boxed)
    }

    /// With the defaults of all other settings.
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

/// The configured engines, each of which serves some of `models`. Without any, an embedded one serves the built-in model, which is added to
/// `models`.
pub(super) fn read(
    root: &Section<'_>,
    models: &mut Vec<ModelConfig>,
    outgoing: &OutgoingConfig,
) -> Read<Vec<EngineConfig>> {
    let mut engines: Vec<EngineConfig> = Vec::new();
    for section in root.sections("engines")? {
        let engine = read_one(&section, models, outgoing)?;
        let is_twice = engines.iter().any(|other| other.name == engine.name);
        section.forbid("name", is_twice.then(|| format!("is given twice: {:?}", engine.name)))?;
        command::refuse_shared_port(&section, &engine, &engines)?;
        one_model::refuse_shared_name(&section, &engine, &engines)?;
        engines.push(engine);
    }
    if engines.is_empty() {
        engines.push(EngineConfig::boxed());
        if models.iter().all(|model| model.name != BOXED_MODEL) {
            models.push(ModelConfig::boxed());
        }
    }
    Ok(engines)
}

fn read_one(section: &Section<'_>, models: &[ModelConfig], outgoing: &OutgoingConfig) -> Read<EngineConfig> {
    let name = section.get("name", like(models::name))?;
    let served = served(section, models)?;
    let kinds = ["openai", "command", "embedded"];
    let kind = section.get("kind", one_of("\"openai\", \"command\" or \"embedded\"", kinds))?;
    for (kinds, keys) in OWN_KEYS.iter().filter(|(kinds, _)| !kinds.contains(&kind)) {
        if let Some(key) = keys.iter().find(|key| section.has(key)) {
            return Err(section.refuse(key, format!("is a setting of engines with kind = {:?}", kinds[0])));
        }
    }
    let kind = match kind {
        "embedded" => EngineKind::Embedded(embedded::read(section, &served)?),
        "command" => EngineKind::Command(command::read(section)?),
        _ => {
            let openai = read_openai(section, base_url, outgoing.of_engine(section)?)?;
            EngineKind::OpenAi(OpenAiConfig { turns: one_model::read(section)?, ..openai })
        }
    };
    let set = section.find("max_concurrency", integer(1..=65_536))?;
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
        request_timeout: section.find("request_timeout", within("1s to 24h"))?.unwrap_or(REQUEST_TIMEOUT),
        connect_timeout: section.find("connect_timeout", within("100ms to 1m"))?.unwrap_or(CONNECT_TIMEOUT),
        hours: hours::read(section)?,
        kind,
    })
}

/// Our names of its models, and its own.
fn served(section: &Section<'_>, models: &[ModelConfig]) -> Read<BTreeMap<String, String>> {
    let Some(named) = section.find("models", text_map)? else {
        let what = "belongs to an engine without a model: add a [[models]] section";
        section.forbid("name", models.is_empty().then_some(what))?;
        return Ok(models.iter().map(|model| (model.name.clone(), model.name.clone())).collect());
    };
    section.forbid("models", named.is_empty().then_some("names no model"))?;
    let unknown = named.keys().find(|name| models.iter().all(|model| model.name != **name));
    let what = |name| match models.iter().find(|model| model.aliases.contains(name)) {
        Some(model) => format!("names {name:?}, which is an alias: name {:?}", model.name),
        None => format!("names {name:?}, which has no [[models]] section"),
    };
    section.forbid("models", unknown.map(what))?;
    Ok(named)
}

/// The settings of a server of the OpenAI API, whose address is parsed by `address`.
fn read_openai(
    section: &Section<'_>,
    address: fn(&str) -> Result<Url, &'static str>,
    outgoing: OutgoingConfig,
) -> Read<OpenAiConfig> {
    let base_url = section.get("base_url", like(address))?;
    let colocated_percent = section.find("colocated_share", like(percent))?;
    let is_alone = colocated_percent.is_some() && !section.has("max_concurrency");
    let what = "needs `max_concurrency`: the requests that the engine runs at once, online traffic included";
    section.forbid("colocated_share", is_alone.then_some(what))?;
    let uses = [CacheSaltUse::Auto, CacheSaltUse::Always, CacheSaltUse::Never];
    let cache_salt = one_of("\"auto\", \"always\" or \"never\"", uses);
    Ok(OpenAiConfig {
        api_key: key_source::read(section)?,
        extras: extras::read(section)?,
        outgoing,
        is_discovered: discovery(section, &base_url)?,
        is_shared: section.find("shared", flag)?.unwrap_or_else(|| !is_loopback(&base_url)),
        cache_salt: section.find("cache_salt", cache_salt)?.unwrap_or_default(),
        colocated_percent,
        rate_limits: RateLimits {
            requests_per_minute: section.find("max_requests_per_minute", integer(1..=1_000_000))?,
            tokens_per_minute: section.find("max_tokens_per_minute", integer(1..=10_000_000_000))?,
        },
        daily_limits: DailyLimits {
            requests_per_day: section.find("max_requests_per_day", integer(1..=1_000_000_000))?,
            tokens_per_day: section.find("max_tokens_per_day", integer(1..=10_000_000_000_000))?,
        },
        turns: None,
        base_url,
    })
}

/// Whether DNS names the replicas. Certificates are for names and limits for contracts, so neither is combined with DNS addresses.
fn discovery(section: &Section<'_>, base_url: &Url) -> Read<bool> {
    if section.find("discovery", one_of("\"dns\"", [()]))?.is_none() {
        return Ok(false);
    }
    let is_other = base_url.scheme() != "http" || base_url.domain().is_none();
    let what = "needs a `base_url` that begins with http:// and a name of DNS";
    section.forbid("discovery", is_other.then_some(what))?;
    let limit = LIMITS.into_iter().find(|limit| section.has(limit));
    let what = |limit| format!("makes several replicas, and `{limit}` is a limit of one");
    section.forbid("discovery", limit.map(what))?;
    Ok(true)
}

fn percent(text: &str) -> Result<u8, &'static str> {
    let number = text.strip_suffix('%').filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()));
    let number = number.and_then(|it| it.parse().ok()).filter(|it| (1..=100).contains(it));
    number.ok_or("a whole number from 1 to 100 and %, like \"50%\"")
}
