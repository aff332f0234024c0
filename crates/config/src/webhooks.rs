//! Allowed webhook URLs, and retries.

use std::net::IpAddr;

use ipnet::IpNet;
use overnight_domain::webhooks::addresses::{is_public, meant};

use super::section::Section;
use super::tree::Value;
use super::values::{each, flag};
use super::{Millis, Read};

const RETRIES_MAX: usize = 20;

const RETRY_MAX: Millis = Millis(7 * 86_400_000);

/// Allowed targets, in addition to https at public addresses, and retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// Allows http, and any address.
    pub allow_insecure_targets: bool,
    /// Allowed networks that are not public.
    pub allow_networks: Vec<IpNet>,
    /// Delays between tries; after the last one an event is given up.
    pub retries: Vec<Millis>,
}

impl WebhooksConfig {
    /// Whether the settings allow an address.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = meant(address);
        self.allow_insecure_targets
            || is_public(address)
            || self.allow_networks.iter().any(|network| network.contains(&address))
    }
}

pub(super) fn read(section: &Section<'_>) -> Read<WebhooksConfig> {
    Ok(WebhooksConfig {
        allow_insecure_targets: section.get("allow_insecure_targets", flag)?,
        allow_networks: section.get("allow_networks", networks)?,
        retries: section.get("retries", retries)?,
    })
}

pub(super) fn networks(value: &Value) -> Result<Vec<IpNet>, String> {
    each("networks like \"10.1.0.0/16\"", network)(value)
}

fn retries(value: &Value) -> Result<Vec<Millis>, String> {
    let delay = |text: &str| text.parse().ok().filter(|delay| *delay <= RETRY_MAX);
    let delays = each("durations up to 7d", delay)(value)?;
    let fits = delays.len() <= RETRIES_MAX;
    fits.then_some(delays).ok_or_else(|| format!("must be at most {RETRIES_MAX} durations"))
}

/// A network, or a single address. IPv4 written as IPv6 is refused: addresses are compared in their canonical form.
fn network(text: &str) -> Option<IpNet> {
    let single = || text.parse::<IpAddr>().map(IpNet::from);
    let network = text.parse::<IpNet>().or_else(|_| single()).ok()?;
    (network.addr().to_canonical() == network.addr()).then_some(network)
}
