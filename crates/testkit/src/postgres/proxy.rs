//! A proxy that loses commits and answers on request.

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
    /// Commits that the server made or refused, while the client did not get the answer.
    pub answers: u64,
    /// Commits that did not reach the server.
    pub commits: u64,
}

/// A proxy on 127.0.0.1 in front of a cluster, which survives restarts of the cluster.
///
/// A commit is a separate `COMMIT` as text, as transactions end in sqlx and in psql. Dropping the proxy closes every connection through it
/// and its port.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    socket: PathBuf,
    orders: Arc<Orders>,
    connections: Arc<Connections>,
    acceptor: Mutex<Option<Acceptor>>,
    /// Both ends of our own connection, which reserve the port while the proxy does not listen.
    _hold: [TcpStream; 2],
}

impl FaultProxy {
    pub fn start(cluster: &Cluster) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let hold = [TcpStream::connect(address)?, listener.accept()?.0];
        let (socket, orders, connections) = (cluster.socket(), Arc::default(), Arc::default());
        let acceptor =
            Acceptor::start(listener, socket.clone(), Arc::clone(&orders), Arc::clone(&connections))?;
        Ok(Self { address, socket, orders, connections, acceptor: Mutex::new(Some(acceptor)), _hold: hold })
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@{}/{database}", self.address)
    }

    /// The next `count` commits reach the server; its complete answer is dropped, and both sides are closed.
    pub fn drop_commit_answers(&self, count: u64) {
        self.orders.drop_answers(count);
    }

    /// The next `count` commits do not reach the server; both sides are closed instead. These precede the commits of
    /// [`FaultProxy::drop_commit_answers`].
    pub fn cut_before_commit(&self, count: u64) {
        self.orders.cut_commits(count);
    }

    /// Losses so far. Each is counted when it is certain, and before the client can notice.
    pub fn dropped(&self) -> Dropped {
        self.orders.dropped()
    }

    pub fn cut_all(&self) {
        self.connections.cut_all();
    }

    /// Whether new connections are refused, as if no server listened. Open connections stay. Fails if the system does not let the proxy
    /// listen again.
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
