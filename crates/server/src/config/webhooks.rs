//! Where webhooks may lead.

use std::net::IpAddr;

use ipnet::IpNet;

use super::ConfigError;
use super::section::Section;

/// Where webhooks may lead, apart from https at addresses of the public internet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// Whether they may be http, and lead to any address.
    pub allow_insecure_targets: bool,
    /// Networks whose addresses may be called though they are not public.
    pub allow_networks: Vec<IpNet>,
}

/// The `[webhooks]` section.
pub(super) fn read(section: &Section<'_>) -> Result<WebhooksConfig, ConfigError> {
    let key = "allow_networks";
    let refuse = |text: &String| {
        section.refuse(key, format!("must be networks like \"10.1.0.0/16\", and has {text:?}"))
    };
    let networks = section.required(key, section.strings(key)?)?;
    Ok(WebhooksConfig {
        allow_insecure_targets: section
            .required("allow_insecure_targets", section.boolean("allow_insecure_targets")?)?,
        allow_networks: networks
            .iter()
            .map(|text| network(text).ok_or_else(|| refuse(text)))
            .collect::<Result<_, _>>()?,
    })
}

/// A network, or a single address. IPv4 written as IPv6 is none: addresses are compared as what they mean.
fn network(text: &str) -> Option<IpNet> {
    let single = || text.parse::<IpAddr>().map(IpNet::from);
    let network = text.parse::<IpNet>().or_else(|_| single()).ok()?;
    (network.addr().to_canonical() == network.addr()).then_some(network)
}
