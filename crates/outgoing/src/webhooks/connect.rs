//! Connections to vetted addresses only.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use overnight_base::clock::Clock;
use overnight_base::planted_bugs::Bug;
use tokio::net::TcpStream;
use url::Host;

use super::failure::Failure;
use super::policy::Policy;
use super::resolve::{Hold, Resolve};
use super::target::Target;

/// For name resolution and connecting together.
const CONNECT_TIMEOUT_MS: i64 = 5_000;

/// Addresses of a name, each of which is checked.
const ANSWERS_MAX: usize = 64;

/// Addresses of a name that are tried.
const ADDRESSES_MAX: usize = 6;

pub(super) struct Dialer<'a> {
    pub(super) policy: &'a Policy,
    pub(super) resolver: &'a dyn Resolve,
    pub(super) clock: &'a dyn Clock,
    /// Held by every lookup until it ends.
    pub(super) hold: Hold,
}

impl Dialer<'_> {
    /// Connects to the URL's current address.
    pub(super) async fn connect(&self, target: &Target) -> Result<TcpStream, Failure> {
        let until = self.clock.now().saturating_add(CONNECT_TIMEOUT_MS);
        let addresses = tokio::select! {
            biased;
            vetted = self.addresses(target) => alternating(vetted?),
            () = self.clock.sleep_until(until) => return Err(Failure::Unresolved),
        };
        self.connect_to_one(&addresses, until).await
    }

    /// The URL's addresses, if all of them are allowed.
    async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, Failure> {
        if !self.policy.allows_name(target) {
            return Err(Failure::Refused);
        }
        let addresses = self.look_up(target).await?;
        if addresses.is_empty() {
            return Err(Failure::Unresolved);
        }
        if addresses.len() > ANSWERS_MAX {
            return Err(Failure::Refused);
        }
        let vetted = self.policy.vet(&addresses, target.port, self.resolver, &self.hold).await;
        let vetted = vetted.ok_or(Failure::Refused)?;
        if Bug::AddressNotPinned.is_planted() {
            let again = self.look_up(target).await?;
            return Ok(again.into_iter().map(|address| SocketAddr::new(address, target.port)).collect());
        }
        Ok(vetted)
    }

    async fn look_up(&self, target: &Target) -> Result<Vec<IpAddr>, Failure> {
        Ok(match &target.host {
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
            Host::Domain(name) => {
                let found = self.resolver.resolve(name, Arc::clone(&self.hold)).await;
                found.map_err(|error| Failure::Unresolved.because(&error))?
            }
        })
    }

    /// Connects to the first address that accepts. Each gets an equal part of the time, and what earlier ones left.
    async fn connect_to_one(&self, addresses: &[SocketAddr], until: i64) -> Result<TcpStream, Failure> {
        let mut failure = Failure::Unreachable;
        for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
            let now = self.clock.now();
            let part = until.saturating_sub(now).max(0) / i64::try_from(left).unwrap_or(1);
            let connected = tokio::select! {
                biased;
                connected = TcpStream::connect(address) => connected,
                () = self.clock.sleep_until(now.saturating_add(part)) => Err(io::ErrorKind::TimedOut.into()),
            };
            let checked = connected.and_then(|stream| Ok((stream.peer_addr()?, stream)));
            match checked {
                Ok((peer, stream)) if peer == *address => {
                    // Failure affects only latency.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(_) => return Err(Failure::Refused),
                Err(error) => failure = Failure::Unreachable.because(&error),
            }
        }
        Err(failure)
    }
}

/// The addresses to try, alternating between families and beginning with the best, so that an unreachable family does not use up the time.
fn alternating(mut addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v4 = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let mut counts = [0, 0];
    addresses.sort_by_cached_key(|address| {
        let is_other = address.is_ipv4() != first_is_v4;
        let count = &mut counts[usize::from(is_other)];
        *count += 1;
        (*count, is_other)
    });
    addresses.truncate(ADDRESSES_MAX);
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_tried_in_turn() {
        let check = |given: &str, expected: &str| {
            let read = |text: &str| -> Vec<SocketAddr> {
                text.split_whitespace().map(|ip| SocketAddr::new(ip.parse().unwrap(), 443)).collect()
            };
            assert_eq!(alternating(read(given)), read(expected));
        };
        check("::a ::b ::c 1.1.1.1 2.2.2.2", "::a 1.1.1.1 ::b 2.2.2.2 ::c");
        check("2.2.2.2 1.1.1.1 ::b ::a", "2.2.2.2 ::b 1.1.1.1 ::a");
        check("::9 ::8 ::7 ::6 ::5 ::4 ::3 1.1.1.1", "::9 1.1.1.1 ::8 ::7 ::6 ::5");
        check("", "");
    }
}
