use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};

use tokio::net::TcpSocket;

/// An address to which nobody may connect.
pub(in super::super) struct Forbidden(TcpListener);

impl Forbidden {
    /// At every address of this machine, in both families if it has both.
    pub(in super::super) fn everywhere() -> Self {
        let both = TcpListener::bind("[::]:0");
        Self(both.or_else(|_| TcpListener::bind("0.0.0.0:0")).unwrap())
    }

    pub(in super::super) fn at(address: SocketAddr) -> Self {
        Self(TcpListener::bind(address).unwrap())
    }

    pub(in super::super) fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    pub(in super::super) fn port(&self) -> u16 {
        self.address().port()
    }

    /// Checks that nobody connected: a connection would wait to be accepted, even after the client closed it.
    pub(in super::super) fn assert_untouched(&self, what: &str) {
        self.0.set_nonblocking(true).unwrap();
        match self.0.accept() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => panic!("{what}: {error}"),
            Ok((_, peer)) => panic!("{what}: {peer} connected"),
        }
    }
}

/// Two addresses of this machine with the same free port.
pub(in super::super) fn two_addresses() -> (SocketAddr, SocketAddr) {
    for _ in 0..100 {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = first.local_addr().unwrap().port();
        let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
        if TcpListener::bind((second, port)).is_ok() {
            return (first.local_addr().unwrap(), SocketAddr::new(second, port));
        }
    }
    panic!("no port is free at two addresses");
}

/// A listener with a full queue: connections are neither accepted nor refused.
pub(in super::super) fn deaf(address: SocketAddr) -> impl Sized {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(address).unwrap();
    let listener = socket.listen(0).unwrap();
    let first = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener, first)
}
