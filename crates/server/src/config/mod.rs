//! The operator's settings: built-in defaults < file < environment < flags, typed and checked at the start.
//!
//! The manual is `overnight.default.toml`. It is compiled in, read as the lowest layer, and the list of what is known.

mod billing;
mod connections;
mod console;
mod daily_limits;
mod encryption;
mod engines;
mod hours;
mod manual;
mod models;
mod nodes;
mod object_store;
mod outgoing;
mod quotas;
mod rate_limits;
mod read;
mod reloading;
mod section;
mod sources;
mod tls;
mod traces;
mod tree;
mod units;
mod webhooks;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;

use overnight_domain::limits::Limits;
use overnight_domain::quotas::Quotas;
use overnight_hub::HubName;
use thiserror::Error;
use url::Url;

pub use billing::{BillingConfig, NotPayable, ProviderConfig, StripeConfig};
pub use connections::ConnectionLimits;
pub use console::{ConsoleConfig, ConsoleOrigin, NoConsole, OidcConfig};
pub use encryption::EncryptionConfig;
pub use engines::{
    CacheSaltUse, CommandConfig, EmbeddedConfig, EngineConfig, EngineKind, ExclusiveDevice, Extras,
    KeySource, ModelSource, ModelTurns, OpenAiConfig, ValueSource,
};
pub use hours::WeeklyHours;
pub use manual::MANUAL;
pub use models::{ModelConfig, RetiresAt};
pub use nodes::{Database, Role, ServerUrl};
pub use object_store::ObjectStoreConfig;
pub use outgoing::{OutgoingConfig, ProxyUse};
pub use read::{LogFormat, LogLevel};
pub use reloading::Reloaded;
pub use sources::{CONFIG_VARIABLE, Sources};
pub use tls::TlsConfig;
pub use traces::{SampleRatio, TracesConfig};
pub use units::{ByteSize, Millis, Price};
pub use webhooks::WebhooksConfig;

/// The model in the box, as clients name it.
pub const BOXED_MODEL: &str = "overnight-tiny";

/// Every setting, checked. `overnight.default.toml` says what each one means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the API is served.
    pub listen: SocketAddr,
    /// Where clients reach it; `None` where that is `listen`.
    pub public_url: Option<Url>,
    /// The certificate of the API; `None` where it is served by http.
    pub tls: Option<TlsConfig>,
    /// Where metrics are served, if not with the API.
    pub metrics_listen: Option<SocketAddr>,
    /// The environment variable that holds the token of the metrics; `None` where they need none.
    pub metrics_token_env: Option<String>,
    /// The folder of everything that is kept.
    pub data_dir: PathBuf,
    /// The part of its disk that creates leave free; `None` for a twentieth of it, and at most 1 GiB.
    pub disk_reserve: Option<ByteSize>,
    /// Where requests and results are stored.
    pub database: Database,
    /// Where the keys are by which what is stored is encrypted; `None` where nothing is.
    pub encryption: Option<EncryptionConfig>,
    /// Where large bodies are stored beside the database; `None` where they are in it.
    pub object_store: Option<ObjectStoreConfig>,
    /// Which part of the work this process does.
    pub role: Role,
    /// What people call this process; `None` where nobody named it.
    pub node: Option<String>,
    /// How long what is in flight may still take when the process is told to stop.
    pub drain: Millis,
    /// How long clients are still let in when the process is told to stop.
    pub linger: Millis,
    /// How long a request gathers its siblings.
    pub aggregation_period: Millis,
    /// How long a lease lasts unless it is renewed.
    pub lease: Millis,
    pub log: LogLevel,
    pub log_format: LogFormat,
    /// The limits on what clients send.
    pub limits: Limits,
    /// The limits on connections, on calls and on what responses hold in memory.
    pub connections: ConnectionLimits,
    /// What an account may use that has no quotas of its own, as far as the settings say.
    pub quotas: Quotas,
    /// How long a request is kept after its end; `None` for ever.
    pub retention: Option<Millis>,
    /// How long an entry of the audit log is kept.
    pub audit_log_retention: Millis,
    /// How old the newest backup may be; zero where nobody watches that.
    pub backup_max_age: Millis,
    /// Where traces are sent; `None` where nothing is traced.
    pub traces: Option<TracesConfig>,
    /// How the service connects to others, engines apart, which have settings of their own.
    pub outgoing: OutgoingConfig,
    /// Where webhooks may lead.
    pub webhooks: WebhooksConfig,
    pub console: ConsoleConfig,
    /// What credits are worth, and how accounts come by them.
    pub billing: BillingConfig,
    /// What clients may name; at least one.
    pub models: Vec<ModelConfig>,
    /// The replicas that answer; at least one.
    pub engines: Vec<EngineConfig>,
}

/// Settings that cannot be used, in a sentence that names the setting and where it was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    fn new(sentence: String) -> Self {
        Self(sentence)
    }
}

impl Config {
    /// Reads every layer and checks the whole.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        read::config(&sources.merged()?)
    }

    /// The address of `path` as clients reach it.
    pub fn public_address(&self, path: &str) -> String {
        match &self.public_url {
            Some(url) => format!("{}{path}", url.as_str().trim_end_matches('/')),
            None => format!("{}://{}{path}", self.scheme(), self.listen),
        }
    }

    /// How `listen` is called.
    pub const fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The same settings, and the model of the Hub that is meant, under the name that clients have for it, on an embedded engine of
    /// its own. A model that is there under this name stays what it is.
    #[must_use]
    pub fn with_hub_model(mut self, name: &HubName) -> Self {
        let model = name.model_name();
        if self.models.iter().all(|known| known.name != model) {
            self.models.push(ModelConfig::named(&model));
            self.engines.push(EngineConfig::embedded(&model, &model, ModelSource::Hub(name.clone())));
        }
        self
    }

    /// Whether the metrics are served with the API: they have no address of their own, and either a token or clients on
    /// this machine only.
    pub fn serves_metrics_with_api(&self) -> bool {
        let is_here =
            self.listen.ip().is_loopback() && self.public_url.as_ref().is_none_or(engines::is_loopback);
        self.metrics_listen.is_none() && (self.metrics_token_env.is_some() || is_here)
    }

    /// The engine that has a replica of this name: its own, one of those that DNS names for it, or that of one of its models.
    pub fn engine_of(&self, replica: &str) -> Option<&EngineConfig> {
        let is_meant = |engine: &&EngineConfig| {
            engine.name == replica
                || (engine.is_discovered() || engine.holds_one_model())
                    && replica.strip_prefix(&*engine.name).is_some_and(|rest| rest.starts_with('/'))
        };
        self.engines.iter().find(is_meant)
    }

    /// Where browsers reach the console.
    ///
    /// # Errors
    /// Why there is none.
    pub fn console_origin(&self) -> Result<ConsoleOrigin, NoConsole> {
        if !self.console.enabled {
            return Err(NoConsole::SwitchedOff);
        }
        ConsoleOrigin::new(self.public_url.as_ref(), self.listen, self.tls.is_some())
    }

    /// What is allowed and probably not meant, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let is_served =
            |model: &ModelConfig| self.engines.iter().any(|engine| engine.models.contains_key(&model.name));
        let idle = self.models.iter().filter(|model| !is_served(model));
        idle.map(|model| format!("no engine serves the model `{}`: its requests wait", model.name)).collect()
    }
}
