//! A proxy that loses what a test tells it to lose.

mod connection;
mod negotiation;
mod orders;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use self::connection::Connection;
use self::orders::Orders;
use super::{Cluster, USER};

/// What a proxy has lost so far.
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
    orders: Arc<Orders>,
    acceptor: Option<JoinHandle<()>>,
}

impl FaultProxy {
    /// Starts a proxy that loses nothing.
    ///
    /// # Errors
    /// The system gives no port.
    pub fn start(cluster: &Cluster) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let orders = Arc::new(Orders::default());
        let (socket, its_orders) = (cluster.socket(), Arc::clone(&orders));
        let acceptor = thread::spawn(move || accept_all(&listener, &socket, &its_orders));
        Ok(Self { address, orders, acceptor: Some(acceptor) })
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

    /// Closes every connection now.
    pub fn cut_all(&self) {
        self.orders.cut_all();
    }

    /// Whether new connections are closed as soon as they come. Those that are open stay.
    pub fn refuse(&self, refuses: bool) {
        self.orders.refuse(refuses);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.orders.stop();
        // The acceptor waits for a connection, and sees then that it has to stop.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.orders.cut_all();
    }
}

fn accept_all(listener: &TcpListener, socket: &Path, orders: &Arc<Orders>) {
    for client in listener.incoming() {
        if orders.are_over() {
            return;
        }
        // A client that cannot be served finds its connection closed, which is answer enough.
        let _ = client.and_then(|client| serve(client, socket, orders));
    }
}

fn serve(client: TcpStream, socket: &Path, orders: &Arc<Orders>) -> io::Result<()> {
    client.set_nodelay(true)?;
    let connection = Arc::new(Connection::new(client, UnixStream::connect(socket)?));
    if orders.admit(&connection) {
        let orders = Arc::clone(orders);
        thread::spawn(move || {
            connection.serve(&orders);
            orders.forget(&connection);
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
