//! How the service calls others: engines, webhook receivers, the object store, the OpenID provider, the payment provider and the collector of traces.

use std::path::PathBuf;

use url::Url;

use super::section::Section;
use super::{ConfigError, engines};

/// How the service connects to others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingConfig {
    /// Files of certificates in PEM that are trusted beside those of the system.
    pub ca_files: Vec<PathBuf>,
    pub proxy: ProxyUse,
}

/// Which proxy calls go through. Calls to this machine (loopback) go through none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProxyUse {
    /// The one that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, if they do.
    #[default]
    Environment,
    /// None.
    Direct,
    /// This one, an `http://` address.
    At(Url),
}

impl OutgoingConfig {
    /// What an engine's section says, on top of this.
    pub(super) fn of_engine(&self, section: &Section<'_>) -> Result<Self, ConfigError> {
        let own = Self::read(section)?;
        let ca_files = self.ca_files.iter().cloned().chain(own.ca_files).collect();
        let proxy = if section.has("proxy") { own.proxy } else { self.proxy.clone() };
        Ok(Self { ca_files, proxy })
    }

    fn read(section: &Section<'_>) -> Result<Self, ConfigError> {
        let ca_files = engines::path(section, "ca_file")?.into_iter().collect();
        Ok(Self { ca_files, proxy: section.read("proxy", proxy)?.unwrap_or_default() })
    }
}

/// The `[outgoing]` section.
pub(super) fn read(root: &Section<'_>) -> Result<OutgoingConfig, ConfigError> {
    OutgoingConfig::read(&root.section("outgoing")?)
}

fn proxy(text: &str) -> Result<ProxyUse, String> {
    let wanted = "\"environment\", \"none\" or an http:// address like \"http://proxy.example.com:3128\"";
    match text {
        "environment" => Ok(ProxyUse::Environment),
        "none" => Ok(ProxyUse::Direct),
        _ => match Url::parse(text) {
            Ok(url) if url.scheme() == "http" && url.has_host() && url.path() == "/" => Ok(ProxyUse::At(url)),
            _ => Err(wanted.to_owned()),
        },
    }
}
