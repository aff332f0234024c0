//! Accepts connections while the proxy takes them.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, JoinHandle};

use super::connection::Connection;
use super::connections::Connections;
use super::orders::Orders;

/// Accepts connections until it is dropped. Then the system refuses them.
#[derive(Debug)]
pub(super) struct Acceptor {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Acceptor {
    pub(super) fn start(
        listener: TcpListener,
        socket: PathBuf,
        orders: Arc<Orders>,
        connections: Arc<Connections>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let must_end = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            for client in listener.incoming() {
                if must_end.load(SeqCst) {
                    return;
                }
                // A client that cannot be served notices that its connection closes.
                let _ = client.and_then(|client| serve(client, &socket, &orders, &connections));
            }
        });
        Ok(Self { address, is_over, thread: Some(thread) })
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.is_over.store(true, SeqCst);
        // Wakes the thread, which checks for the end after each connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    client: TcpStream,
    socket: &Path,
    orders: &Arc<Orders>,
    connections: &Arc<Connections>,
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let connection = Arc::new(Connection::new(client, UnixStream::connect(socket)?));
    let (orders, connections) = (Arc::clone(orders), Arc::clone(connections));
    connections.admit(&connection);
    thread::spawn(move || {
        connection.serve(&orders);
        connections.forget(&connection);
    });
    Ok(())
}
