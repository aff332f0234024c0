//! Where a call comes from.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

use crate::config::ConsoleConfig;

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
