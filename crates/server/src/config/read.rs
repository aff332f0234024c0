//! The whole configuration, read from the merged layers.

use std::net::SocketAddr;
use std::str::FromStr;

use overnight_domain::limits::Limits;
use url::Url;

use super::nodes::{self, Nodes};
use super::section::Section;
use super::tree::Node;
use super::{
    ByteSize, Config, ConfigError, EngineConfig, Millis, ModelConfig, OutgoingConfig, billing, connections,
    console, encryption, engines, models, object_store, outgoing, quotas, tls, traces, webhooks,
};

const HOUR: Millis = Millis(3_600_000);
const DAY: Millis = Millis(24 * HOUR.0);

/// What is logged: this and everything graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    Error,
    Warn,
    /// What an operator wants to know of a day.
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

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];
        let found = all.into_iter().find(|level| level.as_str() == text);
        found.ok_or_else(|| "error, warn, info, debug or trace".to_owned())
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("text or json".to_owned()),
        }
    }
}

/// Types and checks the merged layers.
pub(super) fn config(settings: &Node) -> Result<Config, ConfigError> {
    let root = Section::root(settings);
    let Nodes { database, role, node, drain, linger } = nodes::read(&root)?;
    let listen = root.required("listen", root.read("listen", address)?)?;
    let outgoing = outgoing::read(&root)?;
    let (models, engines) = models_and_engines(&root, &outgoing)?;
    let tls = tls::read(&root)?;
    let data_dir = root.required("data_dir", engines::path(&root, "data_dir")?)?;
    Ok(Config {
        listen,
        public_url: public_url(&root, tls.is_some())?,
        tls,
        metrics_listen: metrics_listen(&root, listen)?,
        metrics_token_env: root.read("metrics_token_env", engines::variable_name)?,
        encryption: encryption::read(&root.section("encryption")?, &data_dir)?,
        object_store: object_store::read(&root.section("object_store")?)?,
        data_dir,
        disk_reserve: root.bounded("disk_reserve", ByteSize(0)..=ByteSize(1024 << 30), "0 B to 1024 GiB")?,
        database,
        role,
        node,
        drain,
        linger,
        aggregation_period: root.required(
            "aggregation_period",
            root.bounded("aggregation_period", Millis(0)..=Millis(12 * HOUR.0), "0s to 12h")?,
        )?,
        lease: root.required("lease", root.bounded("lease", Millis(1_000)..=HOUR, "1s to 1h")?)?,
        log: root.required("log", root.parsed("log")?)?,
        log_format: root.required("log_format", root.parsed("log_format")?)?,
        limits: limits(&root.section("limits")?)?,
        connections: connections::read(&root.section("limits")?)?,
        quotas: quotas::read(&root.section("quotas")?)?,
        retention: root.bounded("retention", DAY..=Millis(3_650 * DAY.0), "1d to 3650d")?,
        audit_log_retention: root.required(
            "audit_log_retention",
            root.bounded("audit_log_retention", DAY..=Millis(3_650 * DAY.0), "1d to 3650d")?,
        )?,
        backup_max_age: root.required(
            "backup_max_age",
            root.bounded("backup_max_age", Millis(0)..=Millis(3_650 * DAY.0), "0s to 3650d")?,
        )?,
        traces: traces::read(&root.section("traces")?)?,
        outgoing,
        webhooks: webhooks::read(&root.section("webhooks")?)?,
        console: console::read(&root.section("console")?)?,
        billing: billing::read(&root.section("billing")?)?,
        models,
        engines,
    })
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "an IP address and a port like \"127.0.0.1:8080\"".to_owned())
}

fn public_url(root: &Section<'_>, has_tls: bool) -> Result<Option<Url>, ConfigError> {
    let url = root.read("public_url", engines::base_url)?;
    if has_tls && url.as_ref().is_some_and(|url| url.scheme() == "http") {
        return Err(root.refuse("public_url", "must begin with https:// where `[tls]` has a certificate"));
    }
    Ok(url)
}

fn metrics_listen(root: &Section<'_>, listen: SocketAddr) -> Result<Option<SocketAddr>, ConfigError> {
    let own = root.read("metrics_listen", address)?;
    if own.is_some_and(|own| own == listen && own.port() != 0) {
        return Err(root.refuse("metrics_listen", "is the same as `listen`: leave it out instead"));
    }
    Ok(own)
}

fn limits(section: &Section<'_>) -> Result<Limits, ConfigError> {
    let size = |key: &str| -> Result<usize, ConfigError> {
        let described = "1 KiB to 1 GiB";
        let range = ByteSize(1 << 10)..=ByteSize(1 << 30);
        let ByteSize(bytes) = section.required(key, section.bounded(key, range, described)?)?;
        usize::try_from(bytes).map_err(|_| section.refuse(key, "is too large for this machine"))
    };
    let (request_body_bytes, metadata_bytes) = (size("request_body")?, size("metadata")?);
    if metadata_bytes > request_body_bytes {
        return Err(section.refuse("metadata", "must not be larger than `limits.request_body`"));
    }
    let batch_requests = section.integer("batch_requests", 1..=1_000_000_u32)?;
    Ok(Limits {
        request_body_bytes,
        file_bytes: size("file")?,
        metadata_bytes,
        batch_requests: section.required("batch_requests", batch_requests)? as usize,
        remote_media: section.required("remote_media", section.boolean("remote_media")?)?,
        allow_fields: section.required("allow_fields", section.strings("allow_fields")?)?,
    })
}

/// With no engine configured, the model in the box joins the configured ones, and an embedded engine serves it.
fn models_and_engines(
    root: &Section<'_>,
    outgoing: &OutgoingConfig,
) -> Result<(Vec<ModelConfig>, Vec<EngineConfig>), ConfigError> {
    let mut models = models::read(root)?;
    let mut engines = engines::read(root, &models, outgoing)?;
    if engines.is_empty() {
        engines.push(EngineConfig::boxed());
        if models.iter().all(|model| model.name != super::BOXED_MODEL) {
            models.push(ModelConfig::boxed());
        }
    }
    Ok((models, engines))
}
