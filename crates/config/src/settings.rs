//! Every setting, how it is read from the merged layers, and whether it takes effect without a restart.

use std::net::SocketAddr;
use std::path::PathBuf;

use overnight_domain::limits::Limits;
use overnight_domain::quotas::Quotas;
use overnight_hub::HubName;
use url::Url;

use super::reloading::{Reloaded, reloaded};
use super::section::Section;
use super::tree::Node;
use super::values::{base_url, is_loopback, like, one_of, path, variable, within};
use super::{
    BillingConfig, ByteSize, ConfigError, ConnectionLimits, ConsoleConfig, ConsoleOrigin, Database,
    EncryptionConfig, EngineConfig, Millis, ModelConfig, ModelSource, NoConsole, ObjectStoreConfig,
    OutgoingConfig, Read, Role, Sources, TlsConfig, TracesConfig, WebhooksConfig, billing, console,
    encryption, engines, limits, models, nodes, object_store, tls, traces, webhooks,
};

/// Every setting, checked. `overnight.default.toml` documents each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub listen: SocketAddr,
    /// The URL for clients; `None`: `listen`.
    pub public_url: Option<Url>,
    /// `None`: http.
    pub tls: Option<TlsConfig>,
    /// `None`: the metrics are served with the API.
    pub metrics_listen: Option<SocketAddr>,
    /// The environment variable of the metrics token; `None`: they need no token.
    pub metrics_token_env: Option<String>,
    pub data_dir: PathBuf,
    /// Disk space that creates leave free; `None`: a twentieth of the disk, at most 1 GiB.
    pub disk_reserve: Option<ByteSize>,
    pub database: Database,
    /// `None`: bodies and files are not encrypted.
    pub encryption: Option<EncryptionConfig>,
    /// The store of large bodies; `None`: the database.
    pub object_store: Option<ObjectStoreConfig>,
    pub role: Role,
    /// A name for people.
    pub node: Option<String>,
    /// After a stop signal, for requests in flight.
    pub drain: Millis,
    /// After a stop signal, for new clients.
    pub linger: Millis,
    /// How long a request gathers its siblings.
    pub aggregation_period: Millis,
    /// Without renewal.
    pub lease: Millis,
    pub log: LogLevel,
    pub log_format: LogFormat,
    /// On what clients send.
    pub limits: Limits,
    /// On connections, calls and the memory of responses.
    pub connections: ConnectionLimits,
    /// For accounts without their own.
    pub quotas: Quotas,
    /// From a request's end; `None`: for ever.
    pub retention: Option<Millis>,
    pub audit_log_retention: Millis,
    /// 0: not monitored.
    pub backup_max_age: Millis,
    /// `None`: no traces.
    pub traces: Option<TracesConfig>,
    /// Engines add their own settings.
    pub outgoing: OutgoingConfig,
    pub webhooks: WebhooksConfig,
    pub console: ConsoleConfig,
    pub billing: BillingConfig,
    /// At least one.
    pub models: Vec<ModelConfig>,
    /// At least one.
    pub engines: Vec<EngineConfig>,
}

fn read(settings: &Node) -> Read<Config> {
    let root = Section::root(settings);
    let database = nodes::database(&root)?;
    let role = nodes::role(&root, &database)?;
    let listen = root.get("listen", like(address))?;
    let outgoing = OutgoingConfig::read(&root.section("outgoing")?)?;
    let mut models = models::read(&root)?;
    let engines = engines::read(&root, &mut models, &outgoing)?;
    let metrics_listen = root.find("metrics_listen", like(address))?;
    let is_same = metrics_listen.is_some_and(|own| own == listen && own.port() != 0);
    root.forbid("metrics_listen", is_same.then_some("is the same as `listen`: leave it out instead"))?;
    let (tls, public_url) = (tls::read(&root.section("tls")?)?, root.find("public_url", like(base_url))?);
    let is_open = tls.is_some() && public_url.as_ref().is_some_and(|url: &Url| url.scheme() == "http");
    let what = "must begin with https:// where `[tls]` has a certificate";
    root.forbid("public_url", is_open.then_some(what))?;
    let data_dir = root.get("data_dir", path)?;
    let limits = root.section("limits")?;
    Ok(Config {
        listen,
        public_url,
        tls,
        metrics_listen,
        metrics_token_env: root.find("metrics_token_env", variable)?,
        encryption: encryption::read(&root.section("encryption")?, &data_dir)?,
        object_store: object_store::read(&root.section("object_store")?)?,
        data_dir,
        disk_reserve: root.find("disk_reserve", within("0 B to 1024 GiB"))?,
        database,
        role,
        node: root.find("node", like(nodes::name))?,
        drain: root.get("drain", within("0s to 1h"))?,
        linger: root.get("linger", within("0s to 10m"))?,
        aggregation_period: root.get("aggregation_period", within("0s to 12h"))?,
        lease: root.get("lease", within("1s to 1h"))?,
        log: root.get("log", one_of("error, warn, info, debug or trace", LogLevel::ALL))?,
        log_format: root.get("log_format", one_of("text or json", [LogFormat::Text, LogFormat::Json]))?,
        limits: limits::read(&limits)?,
        connections: limits::connections(&limits)?,
        quotas: limits::quotas(&root.section("quotas")?)?,
        retention: root.find("retention", within("1d to 3650d"))?,
        audit_log_retention: root.get("audit_log_retention", within("1d to 3650d"))?,
        backup_max_age: root.get("backup_max_age", within("0s to 3650d"))?,
        traces: traces::read(&root.section("traces")?)?,
        outgoing,
        webhooks: webhooks::read(&root.section("webhooks")?)?,
        console: console::read(&root.section("console")?)?,
        billing: billing::read(&root.section("billing")?)?,
        models,
        engines,
    })
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an IP address and a port like \"127.0.0.1:8080\"")
}

impl Config {
    /// Reads every layer and checks the whole.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        read(&sources.merged()?)
    }

    pub fn public_address(&self, path: &str) -> String {
        match &self.public_url {
            Some(url) => format!("{}{path}", url.as_str().trim_end_matches('/')),
            None => format!("{}://{}{path}", self.scheme(), self.listen),
        }
    }

    /// The path of `public_url` without a slash at the end: a proxy removes it from calls.
    pub fn public_path(&self) -> &str {
        self.public_url.as_ref().map_or("", |url| url.path().trim_end_matches('/'))
    }

    pub const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Adds a model of the Hub, under its name for clients, with its own embedded engine. If the name is known, its model is unchanged.
    #[must_use]
    pub fn with_hub_model(mut self, name: &HubName) -> Self {
        let model = name.model_name();
        if self.models.iter().all(|known| known.name != model) {
            self.models.push(ModelConfig::named(&model));
            self.engines.push(EngineConfig::embedded(&model, &model, ModelSource::Hub(name.clone())));
        }
        self
    }

    /// Whether the metrics are served with the API: `metrics_listen` is absent, and they have a token or `listen` is reachable from this
    /// machine only.
    pub fn serves_metrics_with_api(&self) -> bool {
        let is_here = self.listen.ip().is_loopback() && self.public_url.as_ref().is_none_or(is_loopback);
        self.metrics_listen.is_none() && (self.metrics_token_env.is_some() || is_here)
    }

    /// The engine of a replica: its name is the engine's, optionally followed by `/` and a DNS address or a model.
    pub fn engine_of(&self, replica: &str) -> Option<&EngineConfig> {
        let is_meant = |engine: &&EngineConfig| {
            engine.name == replica
                || (engine.is_discovered() || engine.holds_one_model())
                    && replica.strip_prefix(&*engine.name).is_some_and(|rest| rest.starts_with('/'))
        };
        self.engines.iter().find(is_meant)
    }

    /// The URL of the console. Fails if there is none.
    pub fn console_origin(&self) -> Result<ConsoleOrigin, NoConsole> {
        if !self.console.enabled {
            return Err(NoConsole::SwitchedOff);
        }
        ConsoleOrigin::new(self.public_url.as_ref(), self.listen, self.tls.is_some())
    }

    /// Settings that are valid but probably a mistake, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let is_served =
            |model: &ModelConfig| self.engines.iter().any(|engine| engine.models.contains_key(&model.name));
        let idle = self.models.iter().filter(|model| !is_served(model));
        idle.map(|model| format!("no engine serves the model `{}`: its requests wait", model.name)).collect()
    }

    /// The settings after a reload: prices, models, engines, limits, quotas and the like are those of `loaded`. Addresses, stores and
    /// everything that the start builds stay unchanged.
    pub fn reloaded(&self, mut loaded: Self) -> Reloaded {
        if loaded.listen.port() == 0 && loaded.listen.ip() == self.listen.ip() {
            loaded.listen = self.listen;
        }
        // Each setting is listed once, so that a new one must be assigned to a side.
        reloaded! {
            self, loaded;
            listen, public_url, tls, metrics_listen, metrics_token_env, data_dir, database "database_url", encryption, object_store,
            role, node, lease, traces, outgoing, log, log_format, connections "limits on connections", console, billing;
            limits, quotas, retention, audit_log_retention, backup_max_age, disk_reserve, aggregation_period, webhooks, drain, linger;
            models, engines
        }
    }
}

/// The least severe level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

impl LogLevel {
    const ALL: [Self; 5] = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}
