//! Where webhooks may lead, and how often they are tried.

use std::net::IpAddr;

use ipnet::IpNet;
use overnight_domain::webhooks::addresses::{is_public, meant};

use super::section::Section;
use super::{ConfigError, Millis};

/// How often an event may be tried again.
const RETRIES_MAX: usize = 20;

/// The longest time between two tries.
const RETRY_MAX: Millis = Millis(7 * 86_400_000);

/// Where webhooks may lead, apart from https at addresses of the public internet, and how often they are tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// Whether they may be http, and lead to any address.
    pub allow_insecure_targets: bool,
    /// Networks whose addresses may be called though they are not public.
    pub allow_networks: Vec<IpNet>,
    /// What lies between one failed try and the next; behind the last one an event is given up.
    pub retries: Vec<Millis>,
}

impl WebhooksConfig {
    /// Whether an address may be called, as far as its number tells.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = meant(address);
        self.allow_insecure_targets
            || is_public(address)
            || self.allow_networks.iter().any(|network| network.contains(&address))
    }
}

/// The `[webhooks]` section.
pub(super) fn read(section: &Section<'_>) -> Result<WebhooksConfig, ConfigError> {
    Ok(WebhooksConfig {
        allow_insecure_targets: section
            .required("allow_insecure_targets", section.boolean("allow_insecure_targets")?)?,
        allow_networks: networks(section, "allow_networks")?,
        retries: retries(section)?,
    })
}

pub(super) fn networks(section: &Section<'_>, key: &str) -> Result<Vec<IpNet>, ConfigError> {
    let refuse = |text: &String| {
        section.refuse(key, format!("must be networks like \"10.1.0.0/16\", and has {text:?}"))
    };
    let networks = section.required(key, section.strings(key)?)?;
    networks.iter().map(|text| network(text).ok_or_else(|| refuse(text))).collect()
}

fn retries(section: &Section<'_>) -> Result<Vec<Millis>, ConfigError> {
    let key = "retries";
    let delays = section.required(key, section.strings(key)?)?;
    if delays.len() > RETRIES_MAX {
        return Err(section.refuse(key, format!("must be at most {RETRIES_MAX} durations")));
    }
    let read = |text: &String| text.parse().ok().filter(|delay| *delay <= RETRY_MAX);
    let refuse = |text: &String| section.refuse(key, format!("must be durations up to 7d, and has {text:?}"));
    delays.iter().map(|text| read(text).ok_or_else(|| refuse(text))).collect()
}

/// A network, or a single address. IPv4 written as IPv6 is none: addresses are compared as what they mean.
fn network(text: &str) -> Option<IpNet> {
    let single = || text.parse::<IpAddr>().map(IpNet::from);
    let network = text.parse::<IpNet>().or_else(|_| single()).ok()?;
    (network.addr().to_canonical() == network.addr()).then_some(network)
}
