//! The operator's settings: built-in defaults < file < environment < flags, typed and checked at the start.
//!
//! The manual is `overnight.default.toml`: it is compiled in, is the lowest layer, and lists the known settings.

mod billing;
mod console;
mod encryption;
mod engines;
mod hours;
mod limits;
mod manual;
mod models;
mod nodes;
mod object_store;
mod outgoing;
mod reloading;
mod section;
mod settings;
mod sources;
mod tls;
mod traces;
mod tree;
mod units;
mod values;
mod webhooks;

#[cfg(test)]
mod tests;

use thiserror::Error;

pub use billing::{BillingConfig, NotPayable, ProviderConfig, StripeConfig};
pub use console::{ConsoleConfig, ConsoleOrigin, NoConsole, OidcConfig};
pub use encryption::EncryptionConfig;
pub use engines::{
    CacheSaltUse, CommandConfig, EmbeddedConfig, EngineConfig, EngineKind, ExclusiveDevice, Extras,
    KeySource, ModelSource, ModelTurns, OpenAiConfig, ValueSource,
};
pub use hours::WeeklyHours;
pub use limits::ConnectionLimits;
pub use manual::MANUAL;
pub use models::{ModelConfig, RetiresAt};
pub use nodes::{Database, Role, ServerUrl};
pub use object_store::ObjectStoreConfig;
pub use outgoing::{OutgoingConfig, ProxyUse};
pub use reloading::Reloaded;
pub use settings::{Config, LogFormat, LogLevel};
pub use sources::{CONFIG_VARIABLE, Sources};
pub use tls::TlsConfig;
pub use traces::{SampleRatio, TracesConfig};
pub use units::{ByteSize, Millis, Price};
pub use webhooks::WebhooksConfig;

/// The built-in model, as clients name it.
pub const BOXED_MODEL: &str = "overnight-tiny";

/// Unusable settings, in a sentence that names the setting and where it was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ConfigError(String);

type Read<T> = Result<T, ConfigError>;

impl ConfigError {
    fn new(sentence: String) -> Self {
        Self(sentence)
    }
}
