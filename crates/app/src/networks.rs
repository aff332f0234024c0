//! The network that counts as one client if there is no account.

use std::net::{IpAddr, Ipv6Addr};

use super::ReadsFor;

/// An IPv4 address, or a /64 network of IPv6, which providers assign to one customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => Self(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into()),
        }
    }

    /// The turn for its reads.
    pub fn reads(self) -> ReadsFor {
        ReadsFor::Network(self.0)
    }

    /// Bytes that are unique to the network.
    pub(super) fn bytes(self) -> Vec<u8> {
        match self.0 {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets()[..8].to_vec(),
        }
    }
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
            assert_eq!(one_of.bytes() == other_of.bytes(), is_same, "{one} and {other}");
        }
    }
}
