use std::net::{Ipv4Addr, SocketAddr};

/// Returns once all data from `from` to `to`, IPv4 addresses of this machine, have been read.
pub(in super::super) async fn taken_in(from: SocketAddr, to: SocketAddr) {
    while waiting_bytes(from, to).is_some_and(|bytes| bytes > 0)
        || waiting_bytes(to, from).is_some_and(|bytes| bytes > 0)
    {
        tokio::task::yield_now().await;
    }
}

/// The bytes waiting at one end of a connection: sent and not acknowledged, or received and not read.
fn waiting_bytes(own: SocketAddr, peer: SocketAddr) -> Option<u64> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let line = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (read(fields.get(1)?)? == own && read(fields.get(2)?)? == peer).then(|| fields[4].to_owned())
    })?;
    let (sent, received) = line.split_once(':').unwrap();
    Some(u64::from_str_radix(sent, 16).unwrap() + u64::from_str_radix(received, 16).unwrap())
}

fn read(field: &str) -> Option<SocketAddr> {
    let (address, port) = field.split_once(':')?;
    let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
    Some((Ipv4Addr::from(address), u16::from_str_radix(port, 16).ok()?).into())
}
