//! Where a call comes from.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;

use crate::config::ConsoleConfig;

/// What counts as one client where there is no account: an IPv4 address, or a /64 network of IPv6, which one customer of a
/// provider has whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientNetwork(IpAddr);

impl ClientNetwork {
    /// The network of `address`.
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => Self(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
        }
    }
}

/// The address of a caller: what a proxy that is believed says, or else the other end of the connection. Each proxy adds at the
/// end; what stands before an address that is not believed, or before what is none, anybody may have written.
pub(super) fn caller(config: &ConsoleConfig, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
    let lines = headers.get_all("x-forwarded-for").into_iter().map(|line| line.to_str().unwrap_or_default());
    let hops: Vec<&str> = lines.flat_map(|line| line.split(',')).collect();
    let mut address = peer;
    for hop in hops.into_iter().rev() {
        let (true, Some(before)) = (config.trusts(address), address_of(hop.trim())) else {
            break;
        };
        address = before;
    }
    address
}

/// Some proxies write the port besides.
fn address_of(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| hop.parse().ok().map(|address: SocketAddr| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv4_is_a_client_and_so_is_a_network_of_ipv6() {
        for (one, other, is_same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:0:0:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            let [one_of, other_of] =
                [one, other].map(|text| ClientNetwork::of(text.parse().expect("an address")));
            assert_eq!(one_of == other_of, is_same, "{one} and {other}");
        }
    }
}
