//! How the service calls others: engines, webhook receivers, the object store, the OpenID provider, the payment provider and the trace
//! collector.

use std::path::PathBuf;

use url::Url;

use super::Read;
use super::section::Section;
use super::values::{like, path};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingConfig {
    /// PEM files that are trusted beside the system's certificates.
    pub ca_files: Vec<PathBuf>,
    pub proxy: ProxyUse,
}

/// The proxy of outgoing calls. Calls to loopback addresses never use it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProxyUse {
    /// As in `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`.
    #[default]
    Environment,
    Direct,
    /// An `http://` URL.
    At(Url),
}

impl OutgoingConfig {
    /// An engine's own settings, on top of these.
    pub(super) fn of_engine(&self, section: &Section<'_>) -> Read<Self> {
        let own = Self::read(section)?;
        let ca_files = self.ca_files.iter().cloned().chain(own.ca_files).collect();
        let proxy = if section.has("proxy") { own.proxy } else { self.proxy.clone() };
        Ok(Self { ca_files, proxy })
    }

    pub(super) fn read(section: &Section<'_>) -> Read<Self> {
        let ca_files = section.find("ca_file", path)?.into_iter().collect();
        Ok(Self { ca_files, proxy: section.find("proxy", like(proxy))?.unwrap_or_default() })
    }
}

fn proxy(text: &str) -> Result<ProxyUse, &'static str> {
    let wanted = "\"environment\", \"none\" or an http:// address like \"http://proxy.example.com:3128\"";
    match text {
        "environment" => Ok(ProxyUse::Environment),
        "none" => Ok(ProxyUse::Direct),
        _ => match Url::parse(text) {
            Ok(url) if url.scheme() == "http" && url.has_host() && url.path() == "/" => Ok(ProxyUse::At(url)),
            _ => Err(wanted),
        },
    }
}
