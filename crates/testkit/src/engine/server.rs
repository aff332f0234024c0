//! The listener, its connections, and the engine's deaths.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::http;
use super::socket::{ResetFlag, Socket};
use super::state::{Command, State};
use crate::time;

const BACKLOG: u32 = 4_096;
/// Milliseconds between attempts to accept after a failure, or to listen again.
const RETRY_MS: u64 = 5;

/// Serves until stopped, through any number of deaths.
pub(super) async fn run(
    state: Arc<State>,
    mut listener: TcpListener,
    mut commands: UnboundedReceiver<Command>,
) -> io::Result<()> {
    let address = listener.local_addr()?;
    loop {
        match live(&state, listener, &mut commands).await {
            Command::Stop => return Ok(()),
            Command::Die { ms } => {
                tokio::select! {
                    () = time::sleep_ms(ms) => {}
                    () = stopped(&mut commands) => return Ok(()),
                }
            }
        }
        listener = loop {
            match listen(address) {
                Ok(listener) => break listener,
                Err(_) => time::sleep_ms(RETRY_MS).await,
            }
        };
    }
}

/// Listens on this address, although connections of an earlier life may linger.
pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    reserve(address)?.listen(BACKLOG)
}

/// Binds the address without listening, so that the system gives the port to no other socket.
pub(super) fn reserve(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// One life, from listening to the command that ends it. When this returns, the port is closed and no connection is left.
async fn live(
    state: &Arc<State>,
    listener: TcpListener,
    commands: &mut UnboundedReceiver<Command>,
) -> Command {
    let mut tasks = JoinSet::new();
    if state.driver.is_some() {
        let state = Arc::clone(state);
        tasks.spawn(async move {
            if let Some(driver) = &state.driver {
                driver.run().await;
            }
        });
    }
    let end = loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    tasks.spawn(serve_connection(Arc::clone(state), stream));
                }
                Err(_) => time::sleep_ms(RETRY_MS).await,
            },
            command = commands.recv() => break command.unwrap_or(Command::Stop),
        }
        while tasks.try_join_next().is_some() {}
    };
    drop(listener);
    state.recorder.is_dying.store(true, Relaxed);
    tasks.shutdown().await;
    state.reset();
    state.recorder.is_dying.store(false, Relaxed);
    end
}

async fn serve_connection(state: Arc<State>, stream: TcpStream) {
    state.recorder.connect();
    let _ = stream.set_nodelay(true);
    let reset: ResetFlag = Arc::new(AtomicBool::new(false));
    let socket = Socket::new(stream, ResetFlag::clone(&reset));
    let service = service_fn(|request| http::route(Arc::clone(&state), ResetFlag::clone(&reset), request));
    // A broken connection is caused by the client or a fault, so it is not reported.
    let _ = http1::Builder::new()
        .header_read_timeout(None)
        .pipeline_flush(true)
        .serve_connection(socket, service)
        .await;
}

/// Waits for the command to stop; ignores other commands, because a dead engine cannot die again.
async fn stopped(commands: &mut UnboundedReceiver<Command>) {
    while let Some(Command::Die { .. }) = commands.recv().await {}
}
