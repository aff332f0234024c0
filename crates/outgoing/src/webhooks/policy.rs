//! Allowed addresses.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use overnight_base::planted_bugs::Bug;
use overnight_domain::webhooks::addresses::meant;

use super::own_addresses::{CurrentConfig, EngineAddresses, OwnAddresses};
use super::resolve::{Hold, Resolve};
use super::target::Target;

/// Allows the public internet and what the operator allows, but never this service, its database or its engines.
pub struct Policy {
    config: CurrentConfig,
    own_addresses: OwnAddresses,
}

impl Policy {
    /// The policy of a process that listens at `listening` and has these embedded engines.
    pub fn new(config: CurrentConfig, listening: Vec<SocketAddr>, engine_addresses: EngineAddresses) -> Self {
        let own_addresses = OwnAddresses::new(Arc::clone(&config), listening, engine_addresses);
        Self { config, own_addresses }
    }

    /// Whether a webhook may be an http URL.
    pub(super) fn allows_http(&self) -> bool {
        (self.config)().webhooks.allow_insecure_targets
    }

    /// Whether a URL's host may be resolved.
    pub(super) fn allows_name(&self, target: &Target) -> bool {
        !self.own_addresses.are_named(&target.host, target.port)
    }

    /// The socket addresses to connect to, if every one of them is allowed.
    pub(super) async fn vet(
        &self,
        addresses: &[IpAddr],
        port: u16,
        resolver: &dyn Resolve,
        hold: &Hold,
    ) -> Option<Vec<SocketAddr>> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| meant(*address)).collect();
        let is_allowed = Bug::InnerAddressCalled.is_planted()
            || addresses.iter().all(|address| self.allows(*address))
                && !self.own_addresses.are_at(&addresses, port, resolver, hold).await;
        is_allowed.then(|| addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    }

    fn allows(&self, address: IpAddr) -> bool {
        // The unspecified address reaches this machine, but is in no list of its addresses.
        !is_this_network(address) && (self.config)().webhooks.allows(address)
    }
}

/// The unspecified addresses, and all of 0.0.0.0/8.
fn is_this_network(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[0] == 0,
        IpAddr::V6(address) => address.is_unspecified(),
    }
}
