//! A proxy that loses what a test tells it to lose.

mod acceptor;
mod connection;
mod connections;
mod negotiation;
mod orders;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use self::acceptor::Acceptor;
use self::connections::Connections;
use self::orders::Orders;
use super::{Cluster, USER};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Commits that the server made, or refused, without their client ever learning which.
    pub answers: u64,
    /// Commits that never reached the server.
    pub commits: u64,
}

/// A proxy on 127.0.0.1 in front of a cluster, which goes on when the cluster is stopped and started again.
///
/// A commit is a `COMMIT` as text and by itself, as transactions end in sqlx and in psql. When this is dropped, every
/// connection through it is closed, and no new one is taken.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    socket: PathBuf,
    orders: Arc<Orders>,
    connections: Arc<Connections>,
    acceptor: Mutex<Option<Acceptor>>,
    /// A connection of our own, both ends of it: it keeps the port ours while nobody listens there.
    _hold: [TcpStream; 2],
}

impl FaultProxy {
    /// Starts a proxy that loses nothing.
    ///
    /// # Errors
    /// The system gives no port.
    pub fn start(cluster: &Cluster) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let hold = [TcpStream::connect(address)?, listener.accept()?.0];
        let (socket, orders, connections) = (cluster.socket(), Arc::default(), Arc::default());
        let acceptor =
            Acceptor::start(listener, socket.clone(), Arc::clone(&orders), Arc::clone(&connections))?;
        Ok(Self { address, socket, orders, connections, acceptor: Mutex::new(Some(acceptor)), _hold: hold })
    }

    /// The URL to connect through the proxy to a database of the cluster.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.address)
    }

    /// The next `count` commits reach the server; what it answers is thrown away once it is whole, and both sides are
    /// closed. The client never learns what became of them.
    pub fn drop_commit_answers(&self, count: u64) {
        self.orders.drop_answers(count);
    }

    /// The next `count` commits do not reach the server; both sides are closed instead. These go before the commits of
    /// [`FaultProxy::drop_commit_answers`].
    pub fn cut_before_commit(&self, count: u64) {
        self.orders.cut_commits(count);
    }

    /// What was lost so far. It is counted when nothing can save it, and before its client can notice.
    pub fn dropped(&self) -> Dropped {
        self.orders.dropped()
    }

    pub fn cut_all(&self) {
        self.connections.cut_all();
    }

    /// Whether new connections are refused, as where no server listens. Those that are open stay.
    ///
    /// # Errors
    /// The system does not let it listen again.
    pub fn refuse(&self, refuses: bool) -> io::Result<()> {
        let mut acceptor = self.acceptor.lock().unwrap_or_else(PoisonError::into_inner);
        if refuses {
            *acceptor = None;
        } else if acceptor.is_none() {
            let listener = TcpListener::bind(self.address)?;
            let (orders, connections) = (Arc::clone(&self.orders), Arc::clone(&self.connections));
            *acceptor = Some(Acceptor::start(listener, self.socket.clone(), orders, connections)?);
        }
        Ok(())
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.acceptor.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.connections.cut_all();
    }
}

#[cfg(test)]
mod tests;
